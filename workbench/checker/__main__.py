"""`python -m workbench.checker FILE ...`: re-check the certificates in JSON files.

A file holds a certificate, a list of them, or objects with a field `certificates`, such as the
ledger that `workbench verify --json` writes or a find of the gallery. Exits with status 1 if one
of them does not hold or if there is none.

`--required FILE` names what each claim of a ledger has to certify (`proofs/ledger/required.json`);
then missing and foreign certificates, and other statements or verdicts, are refused as well.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workbench.checker.ledger_file import check_ledger
from workbench.checker.reader import LARGEST_FILE, read_json
from workbench.checker.recheck import recheck
from workbench.checker.spoiled import Spoiled


def certificates_in(found: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """The certificates of a file, each with the id of what it belongs to."""
    if isinstance(found, list):
        for one in found:
            yield from certificates_in(one, name)
    elif isinstance(found, dict) and "kind" in found:
        yield name, found
    elif isinstance(found, dict):
        own = str(found.get("id") or found.get("name") or name)
        for key, inner in found.items():
            if key == "certificates" or isinstance(inner, dict):
                yield from certificates_in(inner, own)


def _read(name: str = "") -> tuple[Any, str]:
    """The values in a file, and why there are none."""
    if not name:
        return None, "no file is named"
    try:
        path = Path(name)
        if path.stat().st_size > LARGEST_FILE:
            return None, f"the file is larger than {LARGEST_FILE:,} bytes"
        return read_json(path.read_text()), ""
    except (OSError, ValueError, Spoiled) as error:  # ValueError: no text, or a name with a NUL
        return None, str(error)


def check_file(arguments: list[str]) -> int:
    """Re-check files, and return the exit status."""
    if not arguments or "-h" in arguments or "--help" in arguments:
        print((__doc__ or "").strip())
        return 0 if arguments else 2
    required = None
    if "--required" in arguments:
        place = arguments.index("--required")
        required, problem = _read(*arguments[place + 1 : place + 2])
        if problem:
            print(f"--required FILE: {problem}", file=sys.stderr)
            return 2
        arguments = arguments[:place] + arguments[place + 2 :]
    count = spoiled = 0
    for name in arguments:
        data, problem = _read(name)
        try:
            found = [] if required is not None else list(certificates_in(data))
            lines, wrong = ([], []) if required is None else check_ledger(data, required)
        except Spoiled as error:
            problem = str(error)
        if problem:
            print(f"{name}: {problem}", file=sys.stderr)
            return 1
        count, spoiled = count + len(lines) + len(wrong), spoiled + len(wrong)
        if required is not None:
            print(f"{name}: {len(data)} of {len(required)} claims are in it")
        for line in (*lines, *wrong):
            print(line)
        for owner, certificate in found:
            count += 1
            try:
                said = recheck(certificate)
            except Spoiled as error:
                spoiled += 1
                said = f"SPOILED: {error}"
            print(f"{owner}: {said}" if owner else said)
    print(f"{count - spoiled} of {count} certificates hold")
    return 1 if spoiled or not count else 0


if __name__ == "__main__":
    sys.exit(check_file(sys.argv[1:]))
