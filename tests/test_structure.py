"""Imports point one way, and the shop window holds what it promises."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import workbench

ROOT = Path(__file__).parent.parent

MODEL_PART = {
    "workbench", "workbench.errors", "workbench.numeric", "workbench.space", "workbench.pomdp",
    "workbench.memories", "workbench.augmentation", "workbench.steps",
    "workbench.gym", "workbench.extras",  # tasks that are compiled from a package
}  # fmt: skip


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


@pytest.mark.parametrize("path", sorted(ROOT.glob("workbench/**/*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_the_workbench_imports_neither_tasks_nor_proofs(path):
    if "commands" in path.parts or path.name == "cli.py":
        return  # the command line is where tasks are looked up by name
    assert not {name for name in imports(path) if name.split(".")[0] in ("pomdps", "proofs")}


@pytest.mark.parametrize("path", sorted(ROOT.glob("pomdps/**/*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_tasks_import_only_the_model_part(path):
    used = {name for name in imports(path) if name.split(".")[0] in ("workbench", "proofs")}
    assert {name for name in used if ".".join(name.split(".")[:2]) not in MODEL_PART} == set()


def test_every_name_in_the_window_is_there_and_is_no_module():
    for name in workbench.__all__:
        found = getattr(workbench, name)
        assert name == "memories" or not isinstance(found, type(sys))
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = workbench.nonsense


def test_importing_the_package_loads_nothing_heavy():
    """The command line starts at once because the heavy parts are loaded when they are used."""
    code = (
        "import sys, workbench; print(sorted({'numba', 'sympy', 'scipy', 'pandas', 'matplotlib'} & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert shown.stdout.strip() == "[]"
