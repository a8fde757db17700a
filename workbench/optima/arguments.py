"""What the yardsticks ask of their arguments; each refusal names the argument and its value."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from workbench.errors import NotExact, WorkbenchError, WrongType
from workbench.model.pomdp import POMDP


def require_real_numbers(P: Any, exact: Any) -> None:
    if not isinstance(P, POMDP):
        raise WrongType(f"expected a POMDP, not {P!r}")
    if P.symbols:
        names = ", ".join(sorted(map(str, P.symbols)))
        raise NotExact(f"optima need numbers, but {P.name} holds {names}: give it a value first")
    if exact is not None and not isinstance(exact, bool | np.bool_):
        raise WrongType(f"exact is True or False, not {exact!r}")
    if exact:
        P.require_exact()


def whole_number(name: str, value: Any, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise WrongType(f"{name} is a whole number, not {value!r}")
    if value < least:
        raise WorkbenchError(f"{name} must be at least {least}, not {value}")
    return int(value)


def positive_number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise WrongType(f"{name} is a number, not {value!r}")
    if not 0 < float(value) < math.inf:
        raise WorkbenchError(f"{name} must be positive and finite, not {value}")
    return float(value)
