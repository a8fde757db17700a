"""`workbench learn` on the command line."""

import pytest
import typer
from typer.testing import CliRunner

from workbench.cli.learn_command import learn_command as learn
from workbench.cli.task_name import find_task
from workbench.core.errors import UnknownLabel, WorkbenchError

app = typer.Typer(rich_markup_mode=None)
app.command()(learn)


def run(*arguments):
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "80"})


def test_a_table_with_a_row_for_each_memory_fits_into_80_columns():
    shown = run("recall", "-m", "none", "-m", "OA1", "--steps", "20000", "--seeds", "2")
    assert shown.exit_code == 0, shown.output
    lines = shown.output.splitlines()
    assert max(map(len, lines)) <= 80
    assert "Q-learning on recall" in lines[0]
    none, pairs = (line.split() for line in lines[3:5])
    assert (none[0], pairs[0]) == ("none", "OA1")
    assert (float(none[-2]), none[-1]) == (0, "0")  # the value, and the best
    assert float(pairs[3]) > 25  # of at most 33 per 100 steps
    assert pairs[-1] == "361/400"
    assert "the best deterministic policy" in " ".join(shown.output.split())


@pytest.mark.parametrize(
    ("arguments", "title"),
    [
        (("--learner", "sarsa", "--lam", "1"), "Sarsa(1) on recall"),
        (
            ("--learner", "actor-critic", "--n", "3"),
            "3-step actor-critic (window), v starts at 0, on recall",
        ),
        (("--learner", "monte-carlo", "--no-values"), "Monte Carlo on recall"),
        (("--learner", "r-learning", "--no-values"), "R-learning on recall"),
        (
            ("--learner", "n-step-sarsa", "--epsilon", "0.5", "--workers", "1"),
            "4-step Sarsa on recall",
        ),
    ],
)
def test_learners_and_their_settings(arguments, title):
    shown = run("recall", "--steps", "300", "--seeds", "1", *arguments)
    assert shown.exit_code == 0, shown.output
    assert title in shown.output


@pytest.mark.parametrize("ending", ["png", "pdf"])
def test_learning_curves_are_written(tmp_path, ending):
    path = tmp_path / f"curves.{ending}"
    shown = run("recall", "-m", "OA1", "--steps", "1000", "--seeds", "3", "--plot", str(path))
    assert shown.exit_code == 0, shown.output
    assert path.read_bytes()[:4] in (b"\x89PNG", b"%PDF")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("recal",), "unknown task 'recal' (did you mean recall?)"),
        (("recall", "--learner", "sarsa2"), "unknown learner 'sarsa2'"),
        (("recall", "--lam", "0.5"), "qlearning has no setting 'lam'"),
        (("recall", "--steps", "0"), "steps must be at least 1"),
        (("recall", "--seeds", "0"), "seeds must be at least 1"),
        (("recall", "-m", "X1"), "unknown memory 'X1'"),
        (
            ("recall", "--plot", "curves.txt"),
            "cannot plot to curves.txt: its name must end in one of",
        ),
        (("recall", "--plot", "nowhere/curves.pdf"), "there is no folder"),
        (("nowhere.POMDP",), "cannot read nowhere.POMDP: No such file"),
    ],
)
def test_bad_input_is_refused_before_anything_runs(arguments, message):
    shown = run(*arguments)
    assert isinstance(shown.exception, WorkbenchError)
    assert message in str(shown.exception)


def test_tasks_are_found_by_name_and_in_files(tmp_path):
    assert find_task("gravity").name == "gravity"
    path = tmp_path / "stay.POMDP"
    path.write_text(
        "discount: 0.5\nvalues: reward\nstates: s\nactions: a\nobservations: o\nT: a identity\nO: "
        "* uniform\nR: * : * : * : * 1\n"
    )
    assert len(find_task(str(path)).A) == 1
    with pytest.raises(UnknownLabel, match="`workbench list tasks` names them"):
        find_task("tennis")


def test_the_plot_has_the_common_style_and_the_optimum(tmp_path):
    import matplotlib

    from pomdps import recall
    from workbench import QLearning, augment, learn
    from workbench.cli.learn_command import _best_reward
    from workbench.figures import memory_style
    from workbench.figures.run_plot import save_plot

    E = augment(recall(), "OA1")
    assert _best_reward([augment(recall(), "none"), E]) == pytest.approx(100 / 3)
    path = tmp_path / "curves.svg"
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        save_plot(path, {"OA1": learn(E, QLearning(), steps=1000, seeds=2)}, "title", 100 / 3)
    text = path.read_text()
    assert ">best deterministic<" in text
    assert matplotlib.colors.to_hex(memory_style("OA1")["color"]) in text


def test_large_costs_are_shown_whole():
    shown = run("tiger", "-m", "B1", "--steps", "2000", "--seeds", "2")
    assert shown.exit_code == 0, shown.output
    assert "…" not in shown.output
    assert max(map(len, shown.output.splitlines())) <= 80
    (row,) = (line for line in shown.output.splitlines() if line.startswith("B1 "))
    assert float(row.split()[2]) < -100


def test_the_help_lists_every_learner(capsys):
    from workbench.cli.main import main
    from workbench.core.learners import LEARNERS
    from workbench.deep.settings import NEURAL_LEARNERS

    with pytest.raises(SystemExit):
        main(["learn", "--help"])
    told = "".join(capsys.readouterr().out.split())
    assert all(name in told for name in (*LEARNERS, *NEURAL_LEARNERS))


def test_steps_can_be_written_as_1e4(capsys):
    from workbench.cli.main import main

    with pytest.raises(SystemExit) as end:
        main(["learn", "recall4", "--steps", "1e4", "--seeds", "2"])
    assert end.value.code == 0
    assert "10,000 time steps" in " ".join(capsys.readouterr().out.split())
