"""Errors that the workbench raises on purpose. Each message names the label, row or value at
fault."""

from __future__ import annotations


class WorkbenchError(ValueError):
    """An argument cannot be used. The message says which and why."""


class UnknownLabel(WorkbenchError, KeyError):
    """A label that is not in its space."""

    def __str__(self) -> str:
        return str(self.args[0])


class WrongType(WorkbenchError, TypeError):
    """An argument of the wrong kind."""


class ModelError(WorkbenchError):
    """A POMDP or a memory is not well formed: for instance, a row does not sum to one."""


class PolicyError(WorkbenchError):
    """A policy that does not fit its POMDP or whose rows are not distributions."""


class NeverEnds(WorkbenchError):
    """gamma = 1 and a policy that may go on for ever: its return is not defined."""


class Unbounded(WorkbenchError):
    """gamma = 1 and a loop that pays: returns have no bound, so there is no best policy."""


class NeedsAllActions(WorkbenchError):
    """A function that cannot answer for tasks whose actions depend on what is seen."""


class NotWeighted(WorkbenchError):
    """P(s|o) is not defined on an observation that the policy sees: it sees it infinitely often."""


class Multichain(WorkbenchError):
    """Average rewards that depend on where the process starts, where one is needed."""


class NotExact(WorkbenchError):
    """Exact arithmetic was asked for where floats were given."""


class TooLarge(WorkbenchError):
    """A request beyond a stated limit, with its size and what to do instead."""


class NotSolved(WorkbenchError):
    """No solver reached its tolerance. The message holds the best residual."""
