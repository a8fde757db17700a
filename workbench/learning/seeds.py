"""The seeds of a run: a number of them, or a list."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from workbench.core.learners import OptionError, check_count


def chosen_seeds(seeds: Any) -> tuple[int, ...]:
    """The seeds that a number of them, or a list, means."""
    if not isinstance(seeds, Iterable) or isinstance(seeds, str | bytes):
        check_count("seeds", seeds)
        return tuple(range(int(seeds)))
    chosen = tuple(seeds)
    if not chosen:
        raise OptionError("seeds is empty: give a number of seeds, or at least one seed")
    for seed in chosen:
        check_count("a seed", seed, low=0)
        if seed >= 1 << 64:
            raise OptionError(f"a seed must be below 2^64, not {seed}")
    if len(set(chosen)) < len(chosen):
        twice = next(seed for i, seed in enumerate(chosen) if seed in chosen[:i])
        raise OptionError(f"seed {twice} is given twice; the same seed gives the same run")
    return tuple(int(seed) for seed in chosen)
