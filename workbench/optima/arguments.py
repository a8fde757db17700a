"""Checks of the arguments of searches for optima. Each error names the argument and its value."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.core.errors import NotExact, WrongType
from workbench.core.pomdp import POMDP


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
