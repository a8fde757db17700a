"""Tasks as exact POMDPs, one record for each (`pomdps.task`), modules by family.

`from pomdps import recall` is the function that makes a task, `TASKS["recall"]` its record: title,
text, source, drawing and known answers.
"""

import importlib
import pkgutil
from collections.abc import Callable

from pomdps.task import TASKS
from workbench.core.pomdp import POMDP

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
TASKS.update({name: TASKS.pop(name) for name in sorted(TASKS)})
globals().update({name: record.make for name, record in TASKS.items()})

__all__ = ["TASKS", *TASKS]


def __getattr__(name: str) -> Callable[..., POMDP]:
    """Tell type checkers that tasks are attributes, and everybody else which name is missing."""
    raise AttributeError(f"module 'pomdps' has no attribute {name!r}; tasks: {', '.join(TASKS)}")
