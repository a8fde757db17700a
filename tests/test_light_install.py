"""The base install has no pandas, pyarrow or highspy: what does not need them works, and the rest
says which extra is missing."""

import subprocess

LIGHT = """
import importlib.abc, sys

class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if (package := name.split(".")[0]) in ("pandas", "pyarrow", "highspy"):
            raise ModuleNotFoundError(f"No module named {package!r}", name=package)

sys.meta_path.insert(0, Missing())
from pathlib import Path
import pomdps
import workbench
import workbench.cli.main
from workbench.extras import MissingExtra
from workbench.sweeps.store import Store

E = workbench.augment(pomdps.recall4(), "B1")
assert workbench.evaluate(E, workbench.uniform(E), exact=True).value
for work, extra in (
    (lambda: Store(Path(sys.argv[1])), "sweeps"),
    (lambda: workbench.learn(E, workbench.QLearning(), steps=100, seeds=1).to_frame(), "frames"),
    (lambda: __import__("workbench.research.occupancy_program"), "bounds"),
):
    try:
        work()
    except MissingExtra as missing:
        assert f"[{extra}]" in str(missing), missing
    else:
        raise AssertionError(extra)
print("light")
"""


def test_a_light_install_works_and_says_what_is_missing(processes, tmp_path):
    child = processes.python("-c", LIGHT, tmp_path, stdout=subprocess.PIPE, text=True)
    assert child.communicate(timeout=900)[0] == "light\n"
