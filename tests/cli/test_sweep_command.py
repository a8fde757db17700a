"""`workbench sweep` and `workbench results` on the command line."""

import copy
import random
import shutil
from collections import namedtuple
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sweep_driver import app
from typer.testing import CliRunner

from pomdps import recall
from workbench import output
from workbench.core.augment import augment
from workbench.core.errors import WorkbenchError
from workbench.core.learners import Sarsa
from workbench.executors.executor import ExecutorError
from workbench.learning.learn import learn
from workbench.output import StorageError
from workbench.sweeps import estimate as calibration
from workbench.sweeps import store as storage
from workbench.sweeps import worker as working
from workbench.sweeps.results import list_folder
from workbench.sweeps.run_cells import CellError
from workbench.sweeps.spec import EXAMPLE
from workbench.sweeps.store import pack, unpack

SPEC = """
[[grid]]
task = "recall"
memory = ["none", "OA1"]
learner = "sarsa"
lam = [0.0, 1.0]
seeds = 7
steps = 2000
every = 200
measure = "final"

[[grid]]
task = "recall4"
memory = "B1"
learner = "oracle"
"""


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "80"})


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """A folder with the results of the sweep, and what was said while it ran."""
    folder = tmp_path_factory.mktemp("sweep")
    (folder / "spec.toml").write_text(SPEC)
    said = run("sweep", folder / "spec.toml")
    assert said.exit_code == 0, said.output
    return folder / "spec", said.output


def test_results_go_to_a_folder_named_like_the_file(swept):
    folder, said = swept
    assert "9 cells computed" in said
    assert "0 were there already" in said
    assert len(list((folder / "cells").glob("*.parquet"))) == 9


def test_a_second_run_finds_everything(swept):
    folder, _ = swept
    said = run("sweep", folder.with_suffix(".toml"), "--executor", "local", "--workers", "1")
    assert "0 cells computed" in said.output
    assert "9 were there already" in said.output


def test_the_table_fits_into_80_columns_and_has_a_row_for_each_combination(swept):
    shown = run("results", swept[0]).output
    assert max(map(len, shown.splitlines())) <= 80
    rows = [
        [part.strip() for part in line.split("  ") if part]
        for line in shown.splitlines()
        if line.startswith("recall")
    ]
    assert [row[:3] for row in rows] == [
        ["recall", "OA1", "Sarsa lam=0"],
        ["recall", "OA1", "Sarsa lam=1"],
        ["recall", "none", "Sarsa lam=0"],
        ["recall", "none", "Sarsa lam=1"],
        ["recall4", "B1", "OracleLoop"],
    ]
    assert rows[0][3:5] == ["2k", "7"]
    assert rows[-1][-2:] == ["0.7500", "1"]
    late = learn(augment(recall(), "OA1"), Sarsa(lam=1.0), steps=2000, seeds=7, every=200)
    assert float(rows[1][5]) == pytest.approx(late.late().mean(), abs=0.005)
    assert float(rows[1][-2]) == pytest.approx(late.final_values().mean(), abs=5e-5)


def test_the_rows_are_the_numbers_of_the_learner_bit_for_bit(swept, tmp_path):
    for ending, read in (("csv", pd.read_csv), ("parquet", pd.read_parquet)):
        path = tmp_path / f"rows.{ending}"
        said = run(
            "results", swept[0], "--where", "memory=OA1", "--where", "lam=0", f"--{ending}", path
        )
        assert said.exit_code == 0, said.output
        frame = read(path)
        run_ = learn(augment(recall(), "OA1"), Sarsa(lam=0.0), steps=2000, seeds=7, every=200)
        assert frame.per_100.tolist() == run_.per_100.ravel().tolist()
        assert frame.seed.tolist() == np.repeat(np.arange(7), 10).tolist()
        assert frame.step.tolist() == np.tile(run_.ends, 7).tolist()
        assert frame.value.dropna().tolist() == run_.final_values().tolist()
        assert set(frame.task) == {"recall"}


def test_all_rows_together_keep_whole_numbers_whole(swept):
    frame = list_folder(swept[0]).to_frame()
    assert len(frame) == 4 * 7 * 10 + 400
    assert str(frame.seed.dtype) == "UInt64"
    assert frame[frame.task == "recall4"].seed.isna().all()
    assert frame[frame.task == "recall4"].ended.unique().tolist() == ["fixed"]


@pytest.mark.parametrize(
    ("conditions", "lines", "rows"),
    [
        (["memory=OA1", "memory=none"], 4, 280),
        (["memory=OA1", "lam=1.00"], 1, 70),
        (["learner=sarsa", "seed=3", "seed=6"], 4, 80),
        (["method=oracle-loop"], 1, 400),
        (["step=0.1"], 4, 280),
        (["task=recall", "memory=B1"], 0, 0),
    ],
)
def test_conditions_on_a_field_are_alternatives_and_on_several_all_hold(
    swept, conditions, lines, rows
):
    found = list_folder(swept[0]).where(conditions)
    assert len(found.lines) == lines
    assert len(found.to_frame()) == rows


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--where", "memry=B1"), r"cannot filter by 'memry=B1' \(did you mean memory\?\)"),
        (("--where", "memory"), "cannot filter by 'memory'"),
        (("--where", "memory=B7"), "no results in .* where memory=B7"),
        (("--plot", "curves.txt"), "cannot plot to curves.txt"),
        (("--csv", "nowhere/rows.csv"), "cannot write nowhere/rows.csv: there is no folder"),
    ],
)
def test_wrong_questions_are_refused(swept, arguments, message):
    said = run("results", swept[0], *arguments)
    assert isinstance(said.exception, WorkbenchError)
    with pytest.raises(WorkbenchError, match=message):
        raise said.exception


def test_folders_without_results_are_refused(tmp_path):
    assert "there is no folder" in str(run("results", tmp_path / "nowhere").exception)
    assert "holds no cells" in str(run("results", tmp_path).exception)


def test_curves_are_drawn(swept, tmp_path):
    said = run("results", swept[0], "--plot", tmp_path / "curves.png")
    assert said.exit_code == 0, said.output
    assert (tmp_path / "curves.png").read_bytes()[:4] == b"\x89PNG"


def test_damaged_files_are_named_and_left_where_they_are(swept, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(swept[0], folder)
    victim = sorted((folder / "cells").glob("*.parquet"))[0]
    victim.write_bytes(victim.read_bytes()[:-1])
    said = run("results", folder)
    assert victim.name in said.output.replace("\n", "")
    assert victim.exists()


def test_cells_of_an_older_version_are_called_so(swept, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(swept[0], folder)
    victim = sorted((folder / "cells").glob("*.parquet"))[0]
    content, columns = unpack(victim.read_bytes())
    del content["every"]
    victim.write_bytes(pack(content, columns))
    said = run("results", folder)
    assert said.exit_code == 0
    told = f"From an older version of the workbench, left out: {victim.name}"
    assert told in said.output.replace("\n", "")


def test_an_output_that_cannot_be_written_is_found_before_the_folder_is_read(tmp_path):
    for option in ("--csv", "--parquet"):
        said = run("results", tmp_path / "nowhere", option, tmp_path / "missing" / "file")
        assert "there is no folder" in str(said.exception)
        assert "missing" in str(said.exception)


NASTY = (None, True, -1, 10**30, 1e308, float("nan"), "", "[/red]", [], {}, [[]], [1, "x"], "\0")


def spoil(content, columns, rng):
    """A cell with a field or a column changed, its checksum right again."""
    content, columns = copy.deepcopy(content), dict(columns)
    fields = content["method"] if rng.random() < 0.4 else content
    name = rng.choice(sorted(fields))
    if (how := rng.random()) < 0.5:
        fields[name] = rng.choice(NASTY)
    elif how < 0.6:
        del fields[name]
    else:
        name = rng.choice(sorted(columns))
        columns[name] = rng.choice(
            [
                columns[name][::-1].copy(),
                columns[name].astype(str),
                np.full(len(columns[name]), np.nan),
                np.zeros(len(columns[name]), dtype=np.int64),
            ]
        )
        if rng.random() < 0.3:
            columns = {key: column[:-1] for key, column in columns.items()}
        if rng.random() < 0.3:
            del columns[rng.choice(sorted(columns))]
    return pack(content, columns)


def fuzz_cells(folder, source, count, seed):
    rng = random.Random(seed)
    cells = folder / f"fuzz-{seed}" / "cells"
    cells.mkdir(parents=True)
    whole = [unpack(path.read_bytes()) for path in sorted((source / "cells").glob("*.parquet"))]
    for i in range(count):
        (cells / f"{i}.parquet").write_bytes(spoil(*rng.choice(whole), rng))
        (cells / f"{i - 3}.parquet").unlink(missing_ok=True)
        said = run("results", cells.parent, "--csv", folder / "rows.csv")
        assert said.exception is None or isinstance(said.exception, WorkbenchError | SystemExit), (
            said.exception
        )


def test_signed_cells_of_any_content_are_shown_or_refused_in_words(swept, tmp_path):
    fuzz_cells(tmp_path, swept[0], 60, 0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 5))
def test_many_signed_cells_of_any_content(swept, tmp_path, seed):
    fuzz_cells(tmp_path, swept[0], 500, seed)


def test_seeds_that_are_in_two_cells_count_once(tmp_path):
    path = tmp_path / "spec.toml"
    for seeds in (3, 4, 7):
        path.write_text(
            '[grid]\ntask = "recall"\nmemory = "OA1"\nlearner = "qlearning"\nseeds = '
            f"{seeds}\nsteps = 500\n"
        )
        assert run("sweep", path).exit_code == 0
    (line,) = list_folder(tmp_path / "spec").lines
    assert line.seeds == tuple(range(7))


# ---------------------------------------------------------------------- what goes wrong on the way


def test_cells_that_fail_are_told_at_the_end_with_their_settings_and_tried_again(
    tmp_path, monkeypatch
):
    path = tmp_path / "spec.toml"
    path.write_text(SPEC)
    compute = working.compute_learning

    def fail(E, learner, *rest):
        if learner == Sarsa(lam=1.0) and E.name.endswith("OA1"):
            raise WorkbenchError("this one fails")
        return compute(E, learner, *rest)

    monkeypatch.setattr(working, "compute_learning", fail)
    said = run("sweep", path)
    assert isinstance(said.exception, CellError)  # which `main` prints; exit status 1
    assert "7 cells computed" in said.output
    (line,) = str(said.exception).splitlines()[1:]  # both cells, which differ in their seeds
    assert line.startswith("recall with OA1, Sarsa(lam=1.0, epsilon=0.01")
    assert line.endswith("2,000 steps: this one fails [seeds 0, 1, 2, 3, 4, 5, 6]")
    monkeypatch.undo()
    again = run("sweep", path)
    assert again.exit_code == 0
    assert "2 cells computed" in again.output
    assert "7 were there already" in again.output


def test_ctrl_c_keeps_what_is_finished_and_says_so(tmp_path, monkeypatch):
    path = tmp_path / "spec.toml"
    path.write_text(SPEC)
    save, saved = storage.Store.save, []

    def interrupted(*arguments):
        if len(saved) == 3:
            raise KeyboardInterrupt
        saved.append(save(*arguments))

    monkeypatch.setattr(storage.Store, "save", interrupted)
    said = run("sweep", path)
    assert said.exit_code == 130
    assert "the same command continues" in " ".join(said.output.split())
    monkeypatch.undo()
    assert "6 cells computed" in run("sweep", path).output


# ---------------------------------------------------------------------- before the work


def test_a_dry_run_counts_and_estimates_and_computes_nothing(swept, tmp_path):
    said = run("sweep", swept[0].with_suffix(".toml"), "--dry-run", "-o", tmp_path / "out").output
    assert "9 cells, 0 of them finished" in said
    assert "To do: 9 cells, 56,000 steps, about 0.0 MB." in said
    assert "About " in said
    assert not (tmp_path / "out").exists()
    said = run("sweep", swept[0].with_suffix(".toml"), "--dry-run", "--workers", "1").output
    assert "9 cells, 9 of them finished" in said
    assert "About 0.0 s with 1 worker like this machine." in said


def test_the_estimate_is_the_sum_of_what_was_measured(monkeypatch):
    from workbench.sweeps.spec import parse_spec

    text = SPEC.replace("steps = 2000", "steps = 1_000_000")
    cells = [x for x in parse_spec(text, lambda name: None).cells if x.work]
    seen = []

    def took(cell, E):
        seen.append(cell.memory)
        return 0.5 + 1e-6 * cell.steps

    monkeypatch.setattr(calibration, "product_of", lambda *given: None)
    monkeypatch.setattr(calibration, "fingerprint", lambda P: "")
    monkeypatch.setattr(calibration, "_seconds", took)
    seeds = sum(len(cell.seeds) for cell in cells)
    steps = sum(cell.work for cell in cells)
    expected = pytest.approx(calibration._STORING * len(cells) + 0.5 * seeds + 1e-6 * steps)
    assert calibration.estimate_seconds(cells, lambda name: None) == expected
    assert len(set(seen)) > 1
    assert calibration.estimate_seconds([], lambda name: None) == 0
    seen.clear()
    # no time for more than one: steps of the others are taken to be like its steps
    monkeypatch.setattr(calibration, "_SECONDS", -1.0)
    assert calibration.estimate_seconds(cells, lambda name: None) == expected
    assert len(set(seen)) == 1


def test_files_take_no_more_room_than_was_said(swept):
    from workbench.sweeps.spec import parse_spec

    taken = sum(path.stat().st_size for path in (swept[0] / "cells").glob("*.parquet"))
    assert taken <= calibration.room(parse_spec(SPEC, lambda name: None).cells) <= 20 * taken


def test_the_budget_ends_a_run_and_the_next_one_continues(tmp_path):
    path = tmp_path / "spec.toml"
    path.write_text(SPEC + "[budget]\ncells = 5\n")
    assert "The budget of one run is 5 cells." in run("sweep", path, "--dry-run").output
    first, second = run("sweep", path).output, run("sweep", path).output
    assert "5 cells computed" in first
    assert "4 cells are left" in first
    assert "4 cells computed" in second
    assert "5 were there already" in second


def test_a_folder_that_cannot_be_written_is_refused_before_the_work(swept):
    """In /proc nobody makes a folder, not even root."""
    if not Path("/proc/self").exists():
        pytest.skip("this system has no /proc")
    said = run("sweep", swept[0].with_suffix(".toml"), "-o", "/proc/self/sweep")
    assert isinstance(said.exception, StorageError)
    assert "cannot write to /proc/self/sweep" in str(said.exception)


def test_a_disk_without_room_for_the_results_is_refused_before_the_work(
    swept, tmp_path, monkeypatch
):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(output.shutil, "disk_usage", lambda path: usage(10**9, 0, 60_000_000))
    path = tmp_path / "spec.toml"
    path.write_text(
        SPEC.replace("steps = 2000", "steps = 1_000_000").replace("every = 200", "every = 10")
    )
    said = run("sweep", path)
    assert isinstance(said.exception, StorageError)
    assert "has only 60 MB of free space; 117 MB are needed" in str(said.exception)


def test_wrong_commands_are_refused_and_an_example_is_shown(swept):
    assert run("sweep", "--example").output == EXAMPLE
    assert "name a SPEC.toml" in str(run("sweep").exception)
    assert isinstance(
        run("sweep", swept[0].with_suffix(".toml"), "--executor", "tasks").exception, ExecutorError
    )
