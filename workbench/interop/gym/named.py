"""Environments by name, as the command line takes them: an id, and settings after a question mark.

MiniGrid-MemoryS7-v0?agent_view_size=3    settings of `gymnasium.make`
MiniGrid-DoorKey-8x8-v0?seed=0            begin every episode as seed 0 does
popgym-RepeatFirstEasy-v0?ranks=3         a deck with three ranks in place of thirteen
"""

from __future__ import annotations

import ast
import importlib.util
import time
from contextlib import nullcontext
from typing import Any
from urllib.parse import parse_qsl

from workbench.core.errors import TooLarge, WorkbenchError
from workbench.core.pomdp import POMDP
from workbench.extras import need
from workbench.interop.gym.import_env import from_gymnasium, make_env
from workbench.plain_numbers import LEAST_SECONDS
from workbench.text import counted


def explore_id(name: str, **limits: Any) -> POMDP:
    """The POMDP of an environment that is named, its name with the settings.

    >>> P = explore_id("FrozenLake-v1?is_slippery=False")
    >>> P.name, len(P.S), len(P.p.s_next)
    ('FrozenLake-v1?is_slippery=False', 16, 44)
    """
    env_id, _, text = name.partition("?")
    settings = {key: _read(value) for key, value in parse_qsl(text, keep_blank_values=True)}
    if "=" not in text and text:
        raise WorkbenchError(f"after the question mark of {name} come settings: seed=0&size=5")
    seed, ranks = settings.pop("seed", None), settings.pop("ranks", None)
    around: Any = nullcontext()
    if env_id.startswith("workbench/"):
        from workbench.interop.gym import register_all

        register_all()
    elif env_id.startswith("popgym-"):
        from workbench.interop.gym.popgym_deck import small_deck

        around = small_deck(ranks)
    if ranks is not None and not env_id.startswith("popgym-"):
        raise WorkbenchError(f"ranks is a setting of POPGym's card games, not of {env_id}")
    with around:
        env = make_env(env_id, **settings)
        starts = None if seed is None else [seed]
        return from_gymnasium(env, starts=starts, name=name, **limits)


def environment_ids(beginning: str) -> list[str]:
    """The registered ids that begin so, of the packages that are known here.

    >>> environment_ids("MiniGrid-MemoryS1")[:2]
    ['MiniGrid-MemoryS17Random-v0', 'MiniGrid-MemoryS13Random-v0']
    """
    for package in ("minigrid", "popgym"):
        if importlib.util.find_spec(package) is not None:
            importlib.import_module(package)
    found = [name for name in need("gymnasium").registry if name.startswith(beginning)]
    if not found:
        raise WorkbenchError(f"no environment's id begins with {beginning}")
    return found


def what_fits(name: str, max_states: int, max_seconds: float) -> str:
    """A smaller version of an environment that is too large, in words. Empty if none is known.

    For MiniGrid the layout of seed 0 alone, for POPGym the largest deck.
    """
    settings = {"MiniGrid-": ["seed=0"], "popgym-": [f"ranks={n}" for n in range(1, 13)]}
    tries = next((found for begin, found in settings.items() if name.startswith(begin)), [])
    until, fits = time.monotonic() + max_seconds, ""
    for setting in [] if "?" in name else tries:
        left = max(until - time.monotonic(), LEAST_SECONDS)
        try:
            P = explore_id(f"{name}?{setting}", max_states=max_states, max_seconds=left)
        except TooLarge:
            break
        except WorkbenchError:
            continue  # so few cards are no game
        fits = f"{P.name} fits: {counted(len(P.S), 'state')}"
    return fits


def _read(text: str) -> Any:
    """A setting as a number, a list, True, False or None, else as a word."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
