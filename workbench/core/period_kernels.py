# mypy: disallow-untyped-defs=False
"""Compiled: with which period a sequence of greedy policies repeats itself."""

from __future__ import annotations

from workbench.core.kernels import compile_kernel


@compile_kernel
def smallest_period(marks, fail):
    """The smallest p with marks[i] == marks[i + p] throughout (Knuth-Morris-Pratt failure
    function). `fail` is room for one number more than there are marks."""
    n = len(marks)
    fail[0] = fail[1] = 0
    k = 0
    for i in range(1, n):
        while k > 0 and marks[i] != marks[k]:
            k = fail[k]
        if marks[i] == marks[k]:
            k += 1
        fail[i + 1] = k
    return n - fail[n]


@compile_kernel
def period_of(marks, settle, fail):
    """The period of the greedy policy, once earlier policies no longer count in pi. It is 0 if
    there is none.

    `settle` steps leave next to nothing of a policy. The end is looked at in two lengths: a short
    one, which is cheap and enough for short periods, and half of all iterates.
    """
    n = len(marks)
    for length in (max(16, 2 * settle), n // 2):
        if settle < length <= n:
            period = smallest_period(marks[n - length :], fail)
            if 1 < period <= min(length - settle, length // 2):
                return period
    return 0


@compile_kernel
def find_periods(marks, settle, fail, periods):
    """`period_of` for each loop of a batch."""
    for b in range(len(marks)):
        periods[b] = period_of(marks[b], settle, fail)
