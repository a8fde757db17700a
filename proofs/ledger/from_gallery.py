"""Finds of the counterexample lab as claims. Each is a statement that some task makes true, with
its certificates and a spoiled twin.

"There is a task on which ..." is proved by the task. The claim reads the task back from its JSON,
has every certificate verified by a checker that shares no code with the search, and judges the
statement in rationals. Its spoiled twin is the same claim for a task close by on which the
statement fails: the first simplification of the find that breaks it. What is locally minimal has
one for every simplification.

Claims made here are not part of the ledger of the paper; `claim_from` returns them, `write_claim`
writes a module that registers one.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from proofs.ledger import Claim, Evidence, open_, proved, refuted
from proofs.ledger.prose import text
from workbench.checker.recheck import recheck
from workbench.lab.find import Find
from workbench.lab.gallery import Gallery, Gone, find_json, statement_from_json
from workbench.lab.print import figure7
from workbench.lab.shrink import simplifications
from workbench.lab.statements import Statement
from workbench.results.json import model_from_json, model_json


def claim_from(find: Find | str, id: str = "", folder: str | Path | None = None) -> Claim:
    """The claim that a find proves, with its twin.

    Parameters
    ----------
    find : a find, or the name of one in the gallery.
    id : of the claim; its name in the gallery if not given.
    folder : of the gallery.

    >>> from workbench.lab.sequences import discounted_sequence_task
    >>> from workbench.lab.statements import as_statement
    >>> bits = as_statement("expressive-not-by-bound")
    >>> P = discounted_sequence_task([[0, 0], [0, 0]])
    >>> one = claim_from(Find(P, bits, bits.exactly(P)), "L.bits")
    >>> one().verdict, one.establish(**one.twins[0][1]).verdict
    ('proved', 'refuted')
    """
    if isinstance(find, str):
        entry = Gallery(folder).get(find)
        find, id = entry.find, id or entry.name
    record = find_json(find)
    one = Claim(
        id=id or record["statement"]["name"],
        place="lab",
        statement=f"There is a task on which this holds: {find.statement.sentence()}",
        documented="proved",
        establish=lambda task=record["task"]: judge_record(record, task),
    )
    if (spoiled := spoiled_task(find)) is not None:
        one.twin("a simpler task", task=spoiled)
    return one


def judge_record(record: dict[str, Any], task: dict[str, Any]) -> Evidence:
    """Whether the statement of a record holds for a task, both as JSON: certificates first, then
    the statement itself."""
    statement, P = (
        statement_from_json(record["statement"], record["sentence"]),
        model_from_json(task),
    )
    if isinstance(statement, Gone):
        return open_("the function that was asked is not here")
    verdict = statement.exactly(P)
    shown = figure7(P)
    if not verdict.holds:
        why = "undecided" if verdict.holds is None else "it does not hold for this task"
        return (open_ if verdict.holds is None else refuted)(
            why, text(statement.sentence(), _indented(shown))
        )
    found = find_json(Find(P, statement, verdict))["verdict"]["certificates"]
    verified = [recheck(certificate) for certificate in found]
    facts = "; ".join(f"{key}: {value}" for key, value in verdict.facts.items())
    argument = text(
        statement.sentence(),
        _indented(shown),
        facts,
        *(f"A second way: {line}." for line in verified),
    )
    return proved(f"a task of {len(P.S)} states", argument, found)


def spoiled_task(find: Find) -> dict[str, Any] | None:
    """A task close by on which the statement fails, as JSON. None if every simplification keeps
    it."""
    for one in simplifications(find.task):
        if _fails(find.statement, one):
            return model_json(one)
    return None


def _fails(statement: Statement, P: Any) -> bool:
    try:
        return statement.exactly(P).holds is False
    except ValueError:  # not a task the statement can be asked of
        return False


def _indented(lines: str) -> str:
    return "\n".join(f"  {line}" for line in lines.split("\n"))


def write_claim(
    find: Find | str, id: str, path: str | Path, folder: str | Path | None = None
) -> None:
    """A module that registers the claim, with the task and the statement written out."""
    if isinstance(find, str):
        find = Gallery(folder).get(find).find
    record = {
        key: x for key, x in find_json(find).items() if key in ("statement", "sentence", "task")
    }
    spoiled = spoiled_task(find)
    twin = (
        f'\nholds.twin("a simpler task", task=json.loads({json.dumps(json.dumps(spoiled))}))\n'
        if spoiled
        else ""
    )
    Path(path).write_text(
        f'"""{find.statement.sentence()}\n\n{figure7(find.task)}\n"""\n\n'
        "from __future__ import annotations\n\nimport json\nfrom typing import Any\n\n"
        "from proofs.ledger.from_gallery import judge_record\n"
        "from proofs.ledger import Evidence, claim\n\n"
        f"RECORD: dict[str, Any] = json.loads(\n    {json.dumps(json.dumps(record))}\n)\n\n\n"
        f'@claim({json.dumps(id)}, place="lab", '
        f'statement={json.dumps(find.statement.sentence())}, verdict="proved")\n'
        "def holds(task: Any = None) -> Evidence:\n"
        '    """The certificates of the task, verified, and the statement, judged in '
        'rationals."""\n'
        '    return judge_record(RECORD, task or RECORD["task"])\n\n' + twin
    )
