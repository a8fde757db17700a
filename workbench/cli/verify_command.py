"""`workbench verify`: the ledger of the paper's statements."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from workbench.cli.output_options import output_file


def verify_command(
    ids: Annotated[
        list[str] | None,
        typer.Argument(help="Claims to verify, such as C5 A4.bk; the paper's if none is named."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="The paper's, our own and other papers' claims.")
    ] = False,
    own: Annotated[bool, typer.Option("--own", help="Only theorems of our own.")] = False,
    papers: Annotated[bool, typer.Option("--papers", help="Only other papers' results.")] = False,
    grep: Annotated[
        str | None,
        typer.Option(metavar="WORD", help="Only claims whose id, quotation or statement has it."),
    ] = None,
    paper: Annotated[
        str | None,
        typer.Option(metavar="KEY", help="Only the claims of another paper, such as littman1994."),
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show the whole argument of each claim.")
    ] = False,
    deep: Annotated[
        bool, typer.Option("--deep", help="Run the claims that take longer as well.")
    ] = False,
    json_file: Annotated[
        Path | None,
        typer.Option(
            "--json", metavar="FILE", callback=output_file, help="Write everything as JSON."
        ),
    ] = None,
    html_file: Annotated[
        Path | None,
        typer.Option(
            "--html", metavar="FILE", callback=output_file, help="Write a self-contained page."
        ),
    ] = None,
    readme: Annotated[
        bool,
        typer.Option(
            "--readme",
            help="Write proofs/README.md and what claims must certify anew.",
        ),
    ] = False,
    recheck: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Re-verify the certificates in a file written by --json."
        ),
    ] = None,
    coq: Annotated[
        bool,
        typer.Option(
            "--coq",
            help="Compile the formal proofs with coqc, and nothing else; with --recheck, state the "
            "certificates of the file as theorems and count those that Coq accepts.",
        ),
    ] = False,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Processes to use.")] = 2,
) -> None:
    """Check the statements of the paper, with the evidence.

    First come the sentences that do not hold as printed, then a line for each other claim as it
    is judged. All of them take more than a minute on two cores. Exits with status 1 if a claim does
    not reach the verdict that the project documents for it.

    Example: workbench verify C5 A4.bk -v
    """
    import time

    from workbench.console import plain_console
    from workbench.core.errors import WorkbenchError
    from workbench.text import did_you_mean, duration

    console = plain_console()
    if recheck is not None:
        _recheck_in_coq(recheck, console) if coq else _recheck(recheck, console)
        return
    if coq:
        _compile_proofs(ids or [], console)
        return
    import proofs
    from proofs.ledger import load
    from proofs.report import (
        in_full,
        opening,
        summary,
        write_generated,
        write_html,
        write_json,
    )

    claims = load()
    for name in ids or []:
        if name not in claims:
            raise WorkbenchError(
                f"there is no claim {name!r}{did_you_mean(name, claims)}; `workbench list claims` "
                "shows them all"
            )
    if own + papers + everything + (paper is not None) > 1:
        raise WorkbenchError("give one of --all, --own, --papers and --paper")
    chosen = list(ids or [name for name, one in claims.items() if deep or not one.deep])
    if not ids and not everything and not readme and paper is None:
        kinds = {"T."} if own else {"P."} if papers else {"S", "A", "B", "C", "D"}
        chosen = [name for name in chosen if {name[0], name[:2]} & kinds]
    if paper is not None:
        chosen = _claims_of(paper, chosen)
    if grep is not None:
        chosen = [name for name in chosen if grep.casefold() in _words(claims[name]).casefold()]
        if not chosen:
            raise WorkbenchError(f"no claim contains {grep!r}")
    began = time.monotonic()
    if len(chosen) > 20 and not own and not papers:
        console.print(opening(claims) + "\n", style="bold")
    show = None if verbose else Shown(console)
    found = judge_claims(_wrong_first(chosen, claims), jobs, console, show)
    missing = [one for one in found if isinstance(one, str)]
    entries = [one for one in found if not isinstance(one, str)]
    entries.sort(key=lambda entry: chosen.index(entry.id))
    if verbose:
        for entry in entries:
            in_full(entry, console)
    if json_file is not None:
        write_json(entries, json_file)
    if html_file is not None:
        write_html(entries, html_file)
    if readme:
        write_generated(entries, Path(proofs.__path__[0]), claims)
    took = f"{duration(time.monotonic() - began)} with -j {jobs}"
    not_judged = f"; {len(missing)} NOT judged" if missing else ""
    console.print(f"\n{summary(entries)}{not_judged}. It took {took}.")
    complaints = [f"{entry.id}: {entry.complaint}" for entry in entries if not entry.ok]
    for complaint in complaints + missing:
        console.print(complaint, markup=False)
    if complaints or missing:
        raise typer.Exit(1)


def _claims_of(paper: str, names: list[str]) -> list[str]:
    """Those of the claims that are about a paper of `workbench list papers`."""
    from proofs.papers import PAPERS
    from workbench.core.errors import WorkbenchError
    from workbench.text import did_you_mean

    if paper not in PAPERS:
        raise WorkbenchError(
            f"there is no paper {paper!r}{did_you_mean(paper, PAPERS)}; `workbench list papers` "
            "shows them all"
        )
    return [name for name in names if name.startswith(f"P.{paper}.")]


def _words(one: Any) -> str:
    """The text that `--grep` searches."""
    from proofs.ledger.quotes import QUOTES

    return " ".join((one.id, one.place, QUOTES.get(one.id, ""), one.statement))


def _wrong_first(chosen: list[str], claims: Any) -> list[str]:
    """The sentences that do not hold as printed before the others."""
    from proofs.report import AGAINST

    return sorted(chosen, key=lambda name: claims[name].documented not in AGAINST)


class Shown:
    """Prints claims as they are judged: those that do not hold as printed in full, and first."""

    def __init__(self, console: Any):
        self.console, self.kept = console, list[Any]()

    def __call__(self, entry: Any, wrong_left: bool) -> None:
        from proofs.report import AGAINST, against, in_a_line

        if isinstance(entry, str):
            pass  # the last lines of `verify` name what is not judged
        elif entry.verdict in AGAINST:
            against(entry, self.console)
        else:
            self.kept.append(entry)
        while self.kept and not wrong_left:
            in_a_line(self.kept.pop(0), self.console)


def judge_claims(ids: list[str], jobs: int, console: Any, show: Shown | None = None) -> list[Any]:
    """Run all claims in a few processes, with progress. `show` is told of each."""
    from proofs.ledger import load
    from proofs.report import AGAINST

    claims = load()
    wrong = {name for name in ids if claims[name].documented in AGAINST}

    def told(name: str, entry: Any) -> Any:
        wrong.discard(name)
        if show is not None:
            show(entry, bool(wrong))
        return entry

    from rich.progress import Progress, TextColumn, TimeElapsedColumn

    from workbench.executors.executor import make_executor

    if jobs == 1 or len(ids) == 1:
        return [told(name, _judge(name)) for name in ids]
    done: dict[int, Any] = {}
    columns = (
        TextColumn("{task.completed} of {task.total} claims"),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with (
        make_executor("local", workers=jobs) as executor,
        Progress(*columns, console=console, transient=True) as progress,
    ):
        bar = progress.add_task("", total=len(ids))
        for place, entry in executor.run(_judge, ids):
            done[place] = told(ids[place], entry)
            waiting = [name for i, name in enumerate(ids) if i not in done]
            progress.update(
                bar,
                advance=1,
                description="waiting for " + ", ".join(waiting[:3]) if waiting else "",
            )
    return [done[place] for place in range(len(ids))]


def _judge(name: str) -> Any:
    """In a worker: load the ledger and run one claim. Returns a line that says why not, if the
    claim needs what is missing or fails."""
    from proofs.ledger import load, run
    from workbench.extras import MissingExtra
    from workbench.progress import check_ctrl_c
    from workbench.text import shorten

    try:
        return run(load()[name])
    except MissingExtra as missing:
        return f"{name} is not judged: {missing}"
    except Exception as error:  # one broken claim must not keep the others from being judged
        check_ctrl_c()
        said = shorten(" ".join(f"{type(error).__name__}: {error}".split()), 200)
        return f"{name} failed: {said}"


def _compile_proofs(ids: list[str], console: Any) -> None:
    """Compile the files of `proofs/coq` and show what the theorems of each formal claim rest on."""
    import tempfile
    import time

    from rich.progress import Progress, TextColumn, TimeElapsedColumn

    from proofs.ledger.coqc import check_formal, find_coqc
    from proofs.ledger.formal import formal_claims, sources
    from workbench.core.errors import WorkbenchError
    from workbench.text import did_you_mean, duration

    find_coqc()
    formal = formal_claims()
    for name in ids:
        if name not in formal:
            raise WorkbenchError(f"{name!r} is no formal claim{did_you_mean(name, formal)}")
    chosen, began = ids or list(formal), time.monotonic()
    columns = (
        TextColumn("{task.completed} of {task.total} files"),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with (
        tempfile.TemporaryDirectory() as folder,
        Progress(*columns, console=console, transient=True) as progress,
    ):
        bar = progress.add_task("", total=len(sources()) + 1, completed=-1)
        found = check_formal(
            Path(folder), chosen, lambda name: progress.update(bar, advance=1, description=name)
        )
    for id in chosen:
        console.print(f"{id}: proofs/coq/{formal[id].file}")
        for theorem in formal[id].theorems:
            rests = ", ".join(found[theorem]) or "no axiom"
            console.print(f"  {theorem}: {rests}")
    took = duration(time.monotonic() - began)
    console.print(f"\n{len(chosen)} formal claims, {len(found)} theorems. It took {took}.")


def _recheck_in_coq(path: Path, console: Any) -> None:
    """State the certificates of a file as theorems, let Coq decide, and count by kind."""
    import tempfile
    import time
    from collections import Counter

    from rich.progress import Progress, TextColumn, TimeElapsedColumn

    from proofs.ledger.coq_certificates import ROOTS, WRITERS, check_certificates
    from proofs.ledger.coqc import compile_library, find_coqc
    from workbench.checker.ledger_file import certificate_digest
    from workbench.checker.reader import read_json
    from workbench.checker.spoiled import Spoiled
    from workbench.console import print_sheet
    from workbench.core.errors import WorkbenchError
    from workbench.tables.sheet import Column, Sheet
    from workbench.text import duration

    find_coqc()
    try:
        entries = read_json(path.read_text())
        listed = [(entry["id"], c) for entry in entries for c in entry["certificates"]]
        once = {certificate_digest(c): c for _, c in listed}
        kinds = Counter(str(c["kind"]) for c in once.values())
    except (OSError, UnicodeDecodeError, Spoiled, TypeError, KeyError, AttributeError) as error:
        raise WorkbenchError(f"cannot read {path}: {error}") from None
    if not once:
        raise WorkbenchError(f"{path} holds no certificates")
    began = time.monotonic()
    columns = (
        TextColumn("{task.completed} of {task.total} certificates"),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with (
        tempfile.TemporaryDirectory() as folder,
        Progress(*columns, console=console, transient=True) as progress,
    ):
        bar = progress.add_task("the library", total=len(once))
        compile_library(
            Path(folder), lambda name: progress.update(bar, description=f"library: {name}"), ROOTS
        )
        found = check_certificates(
            Path(folder),
            once.values(),
            lambda done: progress.update(bar, completed=done, description=""),
        )
    claims: dict[str, list[str]] = {}
    for id, c in listed:
        claims.setdefault(certificate_digest(c), []).append(id)

    def named(digest: str) -> str:
        return f"{once[digest]['kind']} {digest} of {', '.join(dict.fromkeys(claims[digest]))}"

    for digest, why in found.refused.items():
        line = f"REFUSED: {named(digest)}: {why}"
        console.print(line, highlight=False, markup=False, style="bold red")
    for digest, why in found.unwritten.items():
        if once[digest]["kind"] in WRITERS:
            console.print(f"not stated: {named(digest)}: {why}", highlight=False, markup=False)
    accepted = Counter(str(once[digest]["kind"]) for digest in found.accepted)
    refused = Counter(str(once[digest]["kind"]) for digest in found.refused)
    rows = []
    for kind, n in kinds.most_common():
        other = n - accepted[kind] - refused[kind]
        rows.append((kind, n, *(x or "" for x in (accepted[kind], refused[kind], other))))
    headings = (
        Column("kind", "what the certificate shows"),
        Column("certificates"),
        Column("accepted", "Coq proves the theorem that states it", True),
        Column("refused", "Coq does not", True),
        Column("not stated", "nothing writes it as a theorem", True),
    )
    print_sheet(Sheet("Certificates stated as theorems for Coq", headings, tuple(rows)))
    sure = set(found.accepted)
    whole = sum(certificate_digest(c) in sure for _, c in listed)
    console.print(
        f"\nCoq accepts {len(sure)} of {len(once)} certificates ({len(sure) / len(once):.0%}; "
        f"{whole} of {len(listed)} as the claims list them) and refuses {len(found.refused)}. It "
        f"took {duration(time.monotonic() - began)}.",
        highlight=False,
    )
    if found.refused:
        raise typer.Exit(1)


def _recheck(path: Path, console: Any) -> None:
    """Re-verify every certificate in a file, without the code that found them. Check too that each
    claim certifies what it has to."""
    from proofs.ledger.places import REQUIRED
    from workbench.checker.ledger_file import check_ledger
    from workbench.checker.reader import read_json
    from workbench.checker.spoiled import Spoiled
    from workbench.core.errors import WorkbenchError

    try:
        found, required = read_json(path.read_text()), read_json(REQUIRED.read_text())
        said, wrong = check_ledger(found, required)
    except (OSError, UnicodeDecodeError, Spoiled) as error:
        raise WorkbenchError(f"cannot read {path}: {error}") from None
    for line in said:
        console.print(line)
    for line in wrong:
        console.print(line, style="bold red")
    total = len(said) + len(wrong)
    console.print(
        f"{len(found)} of {len(required)} claims; {len(said)} certificates hold, {len(wrong)} of "
        f"{total} lines are wrong"
    )
    if wrong:
        raise typer.Exit(1)
