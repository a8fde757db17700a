"""What is built from the project works where there is no checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.slow


def run(*arguments: object, cwd: Path) -> str:
    """What a command prints; it must succeed."""
    done = subprocess.run(
        list(map(str, arguments)), cwd=cwd, capture_output=True, text=True, env=clean_environment()
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def clean_environment() -> dict[str, str]:
    return {key: x for key, x in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME")}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder with the wheel and the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, ROOT, cwd=folder)
    code = (
        "import hatchling.builders.sdist as sdist, sys\n"
        "[print(path) for path in sdist.SdistBuilder(sys.argv[1]).build(directory=sys.argv[2])]"
    )
    run(sys.executable, "-c", code, ROOT, folder, cwd=folder)
    return folder


def test_the_sdist_holds_tests_docs_and_notebooks(built):
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        names = {"/".join(name.split("/")[1:]) for name in archive.getnames()}
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\n")
    assert set(filter(None, tracked)) <= names


def test_an_installed_wheel_judges_draws_and_teaches(built, tmp_path):
    run(sys.executable, "-m", "venv", tmp_path / "venv", cwd=tmp_path)
    python = tmp_path / "venv" / "bin" / "python"
    wheel = next(built.glob("*.whl"))
    run(python, "-m", "pip", "install", "-q", "--no-compile", wheel, cwd=tmp_path)
    workbench = python.parent / "workbench"
    version = run(python, "-c", "import workbench; print(workbench.__version__)", cwd=tmp_path)
    assert version.strip() in wheel.name
    assert "1 proved; as documented" in run(workbench, "verify", "S51.td", cwd=tmp_path)
    assert "checks hold" in run(workbench, "self-test", cwd=tmp_path)
    run(workbench, "explore", "-o", tmp_path / "page.html", cwd=tmp_path)
    assert (tmp_path / "page.html").stat().st_size > 10**5
    run(workbench, "exercises", "-o", tmp_path / "sheets", cwd=tmp_path)
    assert list((tmp_path / "sheets").rglob("*.ipynb"))
    assert run(workbench, "gallery", cwd=tmp_path)
