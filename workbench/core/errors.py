"""The errors that the workbench raises on purpose; each message names the label, row or value at
fault."""

from __future__ import annotations


class WorkbenchError(ValueError):
    """Something handed to the workbench cannot be used; the message says what and where."""


class UnknownLabel(WorkbenchError, KeyError):
    """A label that is not in its space."""

    def __str__(self) -> str:
        return str(self.args[0])


class WrongType(WorkbenchError, TypeError):
    """An argument of the wrong kind."""


class ModelError(WorkbenchError):
    """A POMDP or a memory that is not one: a row that does not sum to one, an empty set, ..."""


class PolicyError(WorkbenchError):
    """A policy that does not fit its POMDP or whose rows are not distributions."""


class NeverEnds(WorkbenchError):
    """gamma = 1 and a policy that may go on for ever: its return is not defined."""


class Unbounded(WorkbenchError):
    """gamma = 1 and a loop that pays: returns have no bound, so there is no best policy."""


class NotWeighted(WorkbenchError):
    """P(s|o) is not defined on an observation that the policy sees: it sees it infinitely often."""


class Multichain(WorkbenchError):
    """Average rewards that depend on where the process starts, where one is needed."""


class NotExact(WorkbenchError):
    """Exact arithmetic was asked for where floats were given."""


class TooLarge(WorkbenchError):
    """A request beyond a stated limit, with its size and what to do instead."""


class NotSolved(WorkbenchError):
    """No solver reached its tolerance; the message holds the best residual."""
