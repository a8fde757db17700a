"""One model, several tools: what each says, and where they differ.

python -m tests.benchmarks.same_model FILE ... --paynt PROGRAM --survey LINES

LINES is what `neighbours.py` printed. It needs the extra `storm`; `pip install paynt` brings PAYNT.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections import Counter
from fractions import Fraction
from pathlib import Path

import stormpy
import stormpy.io
import stormpy.pomdp

from tests.benchmarks.controllers import paynt, run, said
from workbench import (
    POMDP,
    Policy,
    augment,
    best_history,
    best_memoryless,
    evaluate,
    export_drn,
    load_pomdp,
    memories,
)
from workbench.certificates.values import value_certificate
from workbench.checker.recheck import recheck
from workbench.text import brief

HEAD = """\
# Same model, five tools

Written by `python -m tests.benchmarks.same_model FILE ... --paynt PROGRAM --survey LINES`, with
stormpy {storm} and PAYNT {paynt}. The tools are the workbench, its checker (a second program that
uses the standard library alone), Storm, PAYNT and SARSOP. All of them are good tools. They agree
on almost every model, each computes things that the others do not, and a user can avoid each
difference below. SARSOP's numbers are in [benchmarks](benchmarks.md), because it has to be built
from source.

## Published files

`export_drn` writes each file once, and Storm and PAYNT read what it wrote. *Histories*: what the
workbench finds for the best policy of the whole history. *Storm*: its value after unfolding up to
5,000 beliefs, a lower bound unless it says *all*. *n nodes*: what the workbench finds for the best
deterministic controller of n nodes; beside it PAYNT's answer. *x to y*: some policy reaches x, and
none exceeds y. PAYNT's precision is 1e-4, Storm's 1e-6.

| file | histories | Storm | 1 node | PAYNT | 2 nodes | PAYNT |
|---|---|---|---|---|---|---|"""

DIFFERENCES = """
## Where the answers differ

**A start that a file does not name.** In the format of `pomdp-solve` a file without `start` means
that every state is equally likely at the start. On `line4-2goals`, one of Cassandra's examples,
the policy that always goes left is worth {line_float}; the checker accepts a certificate of the
exact fraction. PAYNT reports {bare} for the same policy. With the line `start: uniform` added it
reports {told}.

**Rewards below 0 and optimistic value iteration.** A chain that pays -100 at each step and goes
on with probability 1/2 is worth -200; the checker accepts the certificate. Storm answers
{elimination} by default, {vi} by value iteration, {pi} by policy iteration and {ovi} by
optimistic value iteration, which was made for rewards of at least 0. On the tiger problem a model
can stop with probability 1 - gamma at each step instead of discounting. For its total reward
until it stops PAYNT reports {tiger_total}, and for the discounted reward (`Cdiscount`) {tiger},
where the optimum of one node is -20. We do not know why. Another solution method of Storm does
not change it, so ask for `Cdiscount`.

**The first observation.** In the format of `pomdp-solve` nothing is seen before the first action.
Where the state alone decides what is seen, the workbench shows the first observation too, as the
format of Storm does. So PAYNT gives two answers for the best memoryless policy of 4x3.95. For the
published file, in which the first step has an observation of its own, it is {first}. For the
model as `export_drn` writes it, it is {second} (the workbench: {ours}). Neither is wrong: the
questions differ.
"""

SURVEY = """
## The models of Storm and PAYNT

`python tests/benchmarks/neighbours.py FOLDER ...` loads every POMDP in clones of Storm, stormpy and
PAYNT, and compares a value of each with Storm's. The value is one of these: the best reward of some
time steps, or the best probability of reaching a label, if the agent saw the state; or the return
of the uniform policy. Files that are the same are loaded once and counted each time. A file that
leaves constants open counts once for each set of values that Storm's tests give it. The {found}
POMDPs are in {files} files. Large files that the clones at hand did not hold, SAYNT's hallway2 and
baseball among them, are left out.

| | POMDPs |
|---|---:|
| found | {found} |
| loaded | {loaded} |
| compared with Storm | {compared} |
| of these, within 1e-5 | {agree} |
| loaded, without a value to compare, or too large for one | {silent} |
| refused by name | {refused} |

| why one is refused | POMDPs |
|---|---:|
{reasons}

| loaded and not compared | why |
|---|---|
{silent_files}
"""

LINE4 = """\
discount: 0.99999
values: reward
states: 4
actions: left right
observations: nothing
{start}
T: left
1.0 0.0 0.0 0.0
0.8 0.1 0.1 0.0
0.0 0.8 0.1 0.1
0.0 0.0 0.0 1.0

T: right
1.0 0.0 0.0 0.0
0.1 0.1 0.8 0.0
0.0 0.1 0.1 0.8
0.0 0.0 0.0 1.0

O: * : * : * 1.0

R: left : 1 : 0 : * 1.0
R: right : 2 : 3 : * 1.0
"""

SECONDS = 60
"""For each search of the workbench and of PAYNT."""


def with_options(text: str) -> object:
    """A DRN model as Storm reads it."""
    options = stormpy.io.DirectEncodingParserOptions()
    options.build_choice_labeling = True
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.drn")
        path.write_text(text)
        return stormpy.build_model_from_drn(path, options=options)


def unfolded(P: POMDP) -> str:
    """What Storm says about histories."""
    query = stormpy.parse_properties('Rmax=? [F "done"]')[0]
    try:
        found = stormpy.pomdp.verify_with_belief_unfolding(
            with_options(export_drn(P)), query, max_exploration_size=5_000
        )
    except RuntimeError as error:
        return str(error).partition(":")[0]
    return f"{found.value:.6g}{', all' if found.completed_exploration else ''}"


def line(file: Path, program: str) -> str:
    """A line of the first table."""
    P = load_pomdp(file)
    bounds = best_history(P, max_seconds=SECONDS)
    low, high = float(bounds.lower), float(bounds.upper)
    close = high - low <= 1e-5 * max(abs(high), 1)
    cells = [P.name, brief(low) if close else f"{brief(low)} to {brief(high)}", unfolded(P)]
    for nodes in (1, 2):
        found = best_memoryless(augment(P, memories.F(nodes)), max_seconds=SECONDS)
        cells += [said(found.value, found.bound), paynt(program, P, nodes, SECONDS)[0]]
    return f"| {' | '.join(cells)} |"


def ask_paynt(program: str, model: str, wanted: str) -> str:
    """PAYNT's optimum of one node for the text of a model."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "sketch.templ").write_text(model)
        Path(folder, "sketch.props").write_text(f'R{{"reward"}}max=? [{wanted}]\n')
        text, _ = run([program, folder], 60)
    value = re.search(r"^optimum: (\S+)", text, re.M)
    return value[1] if value else "nothing"


def storm_by(method: str) -> str:
    """Storm's value of the chain that pays -100 and goes on with probability 1/2."""
    rows = "\t\t0 : 1/2\n\t\t1 : 1/2\n"
    text = (
        "@type: MDP\n@parameters\n\n@reward_models\nreward\n@nr_states\n2\n@nr_choices\n3\n@model\n"
    )
    text += f"state 0 [0] init\n\taction a [-100]\n{rows}\taction b [-100]\n{rows}"
    text += "state 1 [0] done\n\taction end [0]\n\t\t1 : 1\n"
    model = with_options(text)
    environment = stormpy.Environment()
    if method:
        kinds = stormpy.environments.MinMaxMethod
        environment.solver().min_max().method = getattr(kinds, method)
    query = stormpy.parse_properties('Rmax=? [F "done"]')[0]
    found = stormpy.model_checking(model, query, environment=environment)
    return f"{found.get_value(model.initial_states[0]):.7g}"  # type: ignore[attr-defined]


def differences(program: str, folder: Path) -> str:
    """The second section. Our numbers are exact, and their certificates are checked."""
    bare = LINE4.format(start="")
    with tempfile.TemporaryDirectory() as where:
        path = Path(where, "line4-2goals.pomdp")
        path.write_text(bare)
        P = load_pomdp(path, exact=True)
    left = Policy.deterministic(P, dict.fromkeys(P.O, "left"))
    worth = evaluate(P, left, exact=True).value
    recheck(value_certificate(P, "none", left, worth))
    chain = POMDP.from_functions(
        name="chain",
        A=["a"],
        p=lambda s, a: {("go", -100): Fraction(1, 2), ("end", -100): Fraction(1, 2)},
        omega=lambda s: {"o": 1},
        mu={"go": 1},
        gamma=1,
        terminal={"end"},
    )
    only = Policy.deterministic(chain, {"o": "a"})
    recheck(value_certificate(chain, "none", only, Fraction(-200)))
    tiger = load_pomdp(folder / "tiger.95.POMDP")
    grid = folder / "4x3.95.POMDP"
    return DIFFERENCES.format(
        line_float=f"{float(worth):.6f}",
        bare=ask_paynt(program, bare, "Cdiscount=0.99999"),
        told=ask_paynt(program, LINE4.format(start="start: uniform"), "Cdiscount=0.99999"),
        elimination=storm_by(""),
        vi=storm_by("VALUE_ITERATION"),
        pi=storm_by("POLICY_ITERATION"),
        ovi=storm_by("OPTIMISTIC_VALUE_ITERATION"),
        tiger_total=ask_paynt(program, export_drn(tiger), 'F "done"'),
        tiger=paynt(program, tiger, 1, SECONDS)[0],
        first=ask_paynt(program, grid.read_text(), "Cdiscount=0.95"),
        second=paynt(program, load_pomdp(grid), 1, SECONDS)[0],
        ours=brief(best_memoryless(load_pomdp(grid)).value),
    )


def reason(refused: str) -> str:
    """A refusal in general words."""
    for word, told in (
        ("holes", "a family of models with holes, which PAYNT chooses among"),
        ("are read", "more than 200,000 states"),
        ("Ambiguous", "actions that depend on what is hidden, refused by Storm"),
        ("processor time", "not read and compared in 60 s of processor time"),
        (": [", "intervals of probabilities"),
        ("not as a DRN", "states without numbers in order, refused by Storm too"),
        ("does not build", "refused by Storm"),
    ):
        if word in refused:
            return told
    return refused[:80]


def survey(lines: list[dict[str, object]]) -> str:
    """The third section, from the lines of `neighbours.py`."""
    refused = Counter(reason(str(x["refused"])) for x in lines if "refused" in x)
    loaded = [x for x in lines if "task" in x]
    compared = [x for x in loaded if "agree" in x]
    return SURVEY.format(
        found=len(lines),
        files=len({str(x["file"]) for x in lines}),
        loaded=len(loaded),
        compared=len(compared),
        agree=sum(bool(x["agree"]) for x in compared),
        silent=len(loaded) - len(compared),
        silent_files="\n".join(
            f"| {'/'.join(Path(str(x['file'])).parts[-2:])} | {str(x['not compared'])[:120]} |"
            for x in loaded
            if "not compared" in x
        ),
        refused=sum(refused.values()),
        reasons="\n".join(f"| {why} | {n} |" for why, n in refused.most_common()),
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--paynt", required=True)
    parser.add_argument("--survey", type=Path, nargs="*", default=[])
    given = parser.parse_args()
    text, _ = run([given.paynt, "--version"], 60)
    version = (re.findall(r"\d+\.\d+\.\d+", text) or [""])[0]
    print(HEAD.format(storm=stormpy.__version__, paynt=version))
    best_history(load_pomdp(given.files[0]))  # compiles
    for file in given.files:
        print(line(file, given.paynt), flush=True)
    print(differences(given.paynt, given.files[0].parent))
    found = {}
    for path in given.survey:
        for row in path.read_text().splitlines():
            if row.startswith("{"):
                about = json.loads(row)
                found[about["file"], about["constants"]] = about
    if found:
        print(survey([*found.values()]))


if __name__ == "__main__":
    main()
