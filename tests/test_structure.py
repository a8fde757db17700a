"""Imports point one way, names mislead nobody, and the shop window holds what it promises."""

import ast
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import workbench

ROOT = Path(__file__).parent.parent

ROOMS = [
    {"text"},
    {"console"},
    {"progress"},
    {"core", "tables", "plain_numbers"},
    {"boundary"},
    {"extras", "output"},
    {"executors"},
    {"agents"},
    {"memories"},
    {"results"},
    {"evaluation"},
    {"improvement", "optima"},
    {"sufficiency", "learning"},
    {"equilibrium"},
    {"research"},
    {"deep"},
    {"sweeps", "certificates"},
    {"checker"},
    {"reproduction", "lab"},
    {"interop"},
    {"figures"},
    {"widgets"},
    {"explorer"},
    {"site"},
    {"cli"},
]
"""The rooms of the house in the order of imports: a room imports from itself and from those
above. Results of `core` write themselves by `tables`, which knows its labels and numbers;
`plain_numbers` raises its errors."""

DOORS = {
    "optima/best_memoryless.py",
    "optima/best_history.py",
    "equilibrium/equilibria.py",
}
"""Functions of upper rooms that load `research` when a caller asks for a result of it."""

READERS = {
    "certificates/critical.py",
    "certificates/fixed_regions.py",
    "certificates/set_bounds.py",
    "lab/memory_statements.py",
}
"""Modules that write down, or look for, results of `research`; beside them only commands do."""

RANK = {room: rank for rank, rooms in enumerate(ROOMS) for room in rooms}

MODEL_PART = {
    "workbench.core",
    "workbench.text",
    "workbench.extras",
    "workbench.agents",
    "workbench.memories",
    "workbench.interop",
}
"""What tasks may use; `interop` for those that are compiled from a package."""

MODULES = sorted(ROOT.glob("workbench/**/*.py"))


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def public_definitions(path: Path) -> set[str]:
    """Functions and classes of a module; a claim is found by its id, and named for its own page."""
    return {
        node.name
        for node in tree_of(path).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        and not node.name.startswith("_")
        and not any(ast.unparse(x).startswith("claim(") for x in node.decorator_list)
    }


def aliases(path: Path) -> set[str]:
    """Names of types that a module makes up for itself."""
    return {
        target.id
        for node in tree_of(path).body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and not target.id.isupper()
    }


@cache
def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


EXTERNAL = {"functools", "dataclasses", "partial", "replace"}
"""Names of the standard library that docstrings mention."""


def test_what_docstrings_call_by_name_exists():
    """A dotted name in backticks, such as `gap.GapCloser`, is made of modules and names that the
    package has."""
    trees = [tree_of(path) for path in MODULES]
    known = {part for path in MODULES for part in path.relative_to(ROOT).with_suffix("").parts}
    for node in (node for tree in trees for node in ast.walk(tree)):
        match node:
            case ast.FunctionDef() | ast.ClassDef():
                known.add(node.name)
            case ast.Name():
                known.add(node.id)
            case ast.Attribute():
                known.add(node.attr)
    documented = ast.Module | ast.ClassDef | ast.FunctionDef
    unknown = {
        name
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, documented)
        for name in re.findall(r"`([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)(?:\(.*?\))?`", text_of(node))
        if name.rpartition(".")[2] not in FILES and set(name.split(".")) - known - EXTERNAL
    }
    assert unknown == set()


FILES = {
    "py",
    "md",
    "json",
    "toml",
    "npz",
    "parquet",
    "POMDP",
    "csv",
    "png",
    "svg",
    "html",
    "css",
    "js",
}
"""Endings of files, whose names look like dotted names."""


def text_of(node: ast.Module | ast.ClassDef | ast.FunctionDef) -> str:
    return ast.get_docstring(node, clean=False) or ""


MOST_WORDS = 20


def first_sentence(text: str) -> str:
    paragraph = " ".join(text.strip().split("\n\n")[0].split())
    return re.split(r"(?<=[^.][.!?])(?<!et al\.) ", paragraph)[0]


def test_docstrings_open_with_a_short_sentence():
    """At most twenty words and no semicolon: a reader takes it in at once."""
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    nodes = [(path, x) for path in MODULES for x in ast.walk(tree_of(path))]
    texts = [(path, first_sentence(text_of(x))) for path, x in nodes if isinstance(x, documented)]
    found = [(path, x) for path, x in texts if ";" in x or len(x.split()) > MOST_WORDS]
    assert found == []


def test_imports_follow_the_order_of_the_rooms():
    below = {}
    for path in MODULES:
        own = path.relative_to(ROOT / "workbench").parts[0].removesuffix(".py")
        if own == "__init__":
            continue  # the window looks into every room, when it is asked
        used = {name.split(".")[1] for name in imports(path) if name.startswith("workbench.")}
        above = {room for room in RANK if RANK[room] < RANK[own]}
        if own in {"core", "tables", "plain_numbers"}:
            above |= {"core", "tables", "plain_numbers"}
        if str(path.relative_to(ROOT / "workbench")) in DOORS:
            above |= {"research"}
        if not used - {own} <= above:
            below[path] = used - {own} - above
    assert below == {}


def test_research_is_reached_through_few_doors():
    """What is ahead of its tools may change: nothing in the rooms below builds on it."""
    users = {
        str(path.relative_to(ROOT / "workbench"))
        for path in MODULES
        if any(name.startswith("workbench.research") for name in imports(path))
    }
    inside = {name for name in users if name.split("/")[0] in ("research", "cli")}
    assert users - inside == DOORS | READERS


def test_the_checker_imports_nothing_but_the_standard_library():
    for path in ROOT.glob("workbench/checker/*.py"):
        own = {name for name in imports(path) if name.startswith("workbench")}
        assert all(name.startswith("workbench.checker") for name in own)
        assert {name.split(".")[0] for name in imports(path) - own} <= sys.stdlib_module_names


def test_every_public_name_has_one_home():
    paths = [*MODULES, *ROOT.glob("pomdps/**/*.py"), *ROOT.glob("proofs/**/*.py")]
    names = Counter(name for path in paths for name in public_definitions(path))
    assert {name for name, homes in names.items() if homes > 1} == set()
    classes = {name for name in names if name[0].isupper()}
    assert {path: aliases(path) & classes for path in paths if aliases(path) & classes} == {}


def test_no_file_name_occurs_twice_and_no_folder_hides_a_function():
    names = [path.name for path in MODULES if path.name != "__init__.py"]
    assert {name for name in names if names.count(name) > 1} == set()
    functions = {n for n in workbench.__all__ if callable(getattr(workbench, n))}
    assert functions & {path.parent.name for path in MODULES} == set()


def test_the_workbench_imports_neither_tasks_nor_proofs():
    # the command line is where tasks are looked up by name
    found = {path: imports(path) for path in MODULES if "cli" not in path.parts}
    tops = {path: {name.split(".")[0] for name in names} for path, names in found.items()}
    assert [path for path, names in tops.items() if names & {"pomdps", "proofs"}] == []


def test_tasks_import_only_the_model_part():
    for path in sorted(ROOT.glob("pomdps/**/*.py")):
        used = {name for name in imports(path) if name.split(".")[0] in ("workbench", "proofs")}
        rooms = {".".join(name.split(".")[:2]) for name in used}
        assert rooms <= MODEL_PART | {"workbench"}, path


def test_every_name_in_the_window_is_there():
    modules = {n for n in workbench.__all__ if isinstance(getattr(workbench, n), type(sys))}
    assert modules == {"memories", "figures", "widgets", "lab"}
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = workbench.nonsense


def test_every_public_name_has_an_example_and_a_line_see_also():
    def lacks(name: str) -> list[str]:
        text = getattr(workbench, name).__doc__ or ""
        run = [x for x in text.splitlines() if ">>>" in x and "+SKIP" not in x]
        found = re.search(r"^ *See also: ((?:`\w+`, )*`\w+`)\.$", text, re.M)
        others = re.findall(r"\w+", found[1]) if found else []
        wrong = [x for x in others if x not in workbench.__all__ or x == name]
        return [*["example"][: not run], *["see also"][: not others], *wrong]

    assert {name: lacks(name) for name in workbench.__all__ if lacks(name)} == {}


def test_all_names_can_be_imported_without_any_extra():
    """The README's first install has none of the extras."""
    missing = [
        "gymnasium",
        "pandas",
        "jax",
        "optax",
        "z3",
        "ipywidgets",
        "IPython",
        "pyarrow",
        "highspy",
    ]
    code = (
        f"import sys; sys.modules |= dict.fromkeys({missing})\n"
        "from workbench import *\n"
        "import workbench.widgets, workbench.lab\n"
        "print(improve.__name__, 'to_gymnasium' in globals(), workbench.__version__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout == f"improve False {workbench.__version__}\n", done.stderr


def test_changelog_and_citation_name_the_version_of_the_code():
    newest = re.search(r"^## (\S+)(.*)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    ending = ".dev0" if newest[2] == " (unreleased)" else ""
    assert newest[1] + ending == workbench.__version__
    assert f"\nversion: {workbench.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_importing_the_package_loads_nothing_heavy():
    """The command line starts at once because the heavy parts are loaded when they are used."""
    heavy = "{'numba', 'sympy', 'scipy', 'pandas', 'matplotlib'}"
    code = f"import sys, workbench; print(sorted({heavy} & set(sys.modules)))"
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert shown.stdout.strip() == "[]"
