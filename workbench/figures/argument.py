"""The arguments of figures: results, or what users have at hand.

A figure draws the result that its docstring names. Given a POMDP, a POMDP and a memory, a policy, a
run or an optimum instead, it makes that result first, by the same public call that a person would
use. Anything else is refused, and the message names that call.

>>> refuse("q_table", 3, "evaluate(P, pi)")
Traceback (most recent call last):
...
workbench.core.errors.WrongType: q_table draws what evaluate(P, pi) returns, not 3
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from workbench.core.augment import augment
from workbench.core.errors import WrongType
from workbench.core.policy import Policy, uniform
from workbench.core.pomdp import POMDP
from workbench.memories import Memory, MemoryFamily
from workbench.optima.best_memoryless import best_memoryless
from workbench.text import shorten

_SECONDS = 5.0
"""Of a search for the policy to draw, where none is given."""


def refuse(figure: str, found: Any, call: str) -> NoReturn:
    """Raise an error that names the call whose result the figure draws."""
    raise WrongType(f"{figure} draws what {call} returns, not {shorten(repr(found), 100)}")


def require_result(figure: str, found: Any, attributes: tuple[str, ...], call: str) -> None:
    """Refuse what has not the attributes of a result. The message names the call that makes one."""
    if not all(hasattr(found, name) for name in attributes):
        refuse(figure, found, call)


def split_axes(given: tuple[Any, ...], axes: Any) -> tuple[tuple[Any, ...], Any]:
    """The arguments of a figure without the axes, which may stand last among them."""
    is_axes = given and (hasattr(given[-1], "imshow") or hasattr(given[-1], "ravel"))
    if axes is None and given and (is_axes or isinstance(given[-1], list) or given[-1] is None):
        return given[:-1], given[-1]
    return given, axes


def none_left(figure: str, given: tuple[Any, ...]) -> None:
    """Refuse arguments that nothing was made of."""
    if given:
        raise WrongType(f"{figure} cannot draw {shorten(repr(given[0]), 100)} beside the rest")


def task_of(found: POMDP, given: tuple[Any, ...]) -> tuple[POMDP, tuple[Any, ...]]:
    """The POMDP that (P, memory, ...) or (E, ...) means, and what stands behind it."""
    if given and isinstance(given[0], str | Memory | MemoryFamily):
        return augment(found, given[0]), given[1:]
    return found, given


def task_and_policy(
    figure: str, found: Any, given: tuple[Any, ...], call: str, best: bool = True
) -> tuple[POMDP, Policy]:
    """The POMDP and the policy to draw.

    Parameters
    ----------
    found, given : (E, pi), (P, memory, pi), (E,), (P, memory), or a result that holds both, such as
        a run, an optimum, an equilibrium or an improvement.
    best : whether the policy is the best one where none is given; else it is uniform.
    """
    if isinstance(found, POMDP):
        E, rest = task_of(found, given)
        if rest and isinstance(rest[0], Policy):
            none_left(figure, rest[1:])
            return E, rest[0]
        if rest:
            refuse(figure, rest[0], call)
        return E, best_memoryless(E, max_seconds=_SECONDS).policy if best else uniform(E)
    none_left(figure, given)
    task, policy = getattr(found, "P", None), policy_in(found)
    if isinstance(task, POMDP) and policy is not None:
        return task, policy
    refuse(figure, found, call)


def policy_in(found: Any) -> Policy | None:
    """The policy that a result is about: the limit of a loop, the optimum, the first seed's."""
    if isinstance(found, Policy):
        return found
    for name in ("limit", "pi", "policy"):
        policy = getattr(found, name, None)
        if callable(policy) and hasattr(found, "seeds"):
            policy = policy(found.seeds[0])
        if isinstance(policy, Policy):
            return policy
    return None


def results_by_memory(figure: str, found: Any, attributes: tuple[str, ...], call: str) -> Any:
    """{memory: result} of one result, of several, or of such a mapping.

    A result is called after the memory of its POMDP; a second one of the same name gets a number.
    """
    if not isinstance(found, Mapping):
        several = found if isinstance(found, list | tuple) else [found]
        named: dict[str, Any] = {}
        for one in several:
            require_result(figure, one, attributes, call)
            task = getattr(one, "P", None)
            name = "none" if task is None else task.name.rpartition("×")[2]
            name = "none" if task is not None and name == task.name else name
            again = sum(other.partition(" (")[0] == name for other in named)
            named[name if not again else f"{name} ({again + 1})"] = one
        return named
    for one in found.values():
        require_result(figure, one, attributes, call)
    return found
