"""POPGym's card games for the explorer.

The package shuffles all cards at the reset, which can fall in 52! ways. Here a card is drawn among
those left when it is dealt, which is the law of a shuffled deck, and cards that the game does not
tell apart are one branch. A state is what the package calls one (`get_state`), without the order of
cards that are not dealt yet and without the count of steps; time limits come off.

A deck of 52 cards makes millions of states. `small_deck` has fewer ranks.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np

from workbench.core.errors import WorkbenchError
from workbench.extras import need
from workbench.interop.gym.draws import CannotEnumerate, Draws
from workbench.interop.gym.subject import Parts, Subject, canonical

_COUNTERS = ("curr_step", "num_steps", "timestep")
"""What the package's games call the count of steps that only ends episodes."""

_TELLS_APART = {
    "RepeatFirst": "suits_idx",
    "RepeatPrevious": "suits_idx",
    "Autoencode": "suits_idx",
    "HigherLower": "ranks_idx",
}
"""What of a card matters in a game; the others say it themselves (`deck_idx_type`)."""


def is_popgym(env: Any) -> bool:
    """Whether an environment is one of POPGym's, without importing the package."""
    package = sys.modules.get("popgym.core.env")
    return package is not None and isinstance(env.unwrapped, package.POPGymEnv)


@contextmanager
def small_deck(ranks: int | None) -> Iterator[None]:
    """Have POPGym make decks of fewer ranks, four suits each. None leaves it as it is."""
    if ranks is None:
        yield
        return
    if isinstance(ranks, bool) or not isinstance(ranks, int) or not 1 <= ranks <= 13:
        raise WorkbenchError(f"ranks is a whole number from 1 to 13, not {ranks!r}")
    module = need("popgym.core.deck")
    before = module.RANKS, module.DECK_SIZE
    module.RANKS, module.DECK_SIZE = before[0][:ranks], ranks * module.SUITS.size
    try:
        yield
    finally:
        module.RANKS, module.DECK_SIZE = before


class PopgymSubject(Subject):
    """A POPGym environment that is being explored."""

    def prepare(self, env: Any) -> None:
        self.keeps_time = False
        bare = env.unwrapped
        deck = need("popgym.core.deck").Deck
        games = [kind.__name__ for kind in type(bare).__mro__]
        told = next((_TELLS_APART[game] for game in games if game in _TELLS_APART), None)
        for value in vars(bare).values():
            if isinstance(value, deck):
                value.__class__ = _dealt_when_asked(deck)
                value.sorts = bare.deck_idx_type if told is None else getattr(value, told)
                value.at_once = "Concentration" in games  # its cards lie there from the start

    def constants(self, env: Any) -> list[Any]:
        """The tables of decks: only the order of cards changes."""
        deck = need("popgym.core.deck").Deck
        return [
            table
            for value in vars(env.unwrapped).values()
            if isinstance(value, deck)
            for name, table in vars(value).items()
            if isinstance(table, np.ndarray) and name != "idx"
        ]

    def state(self, env: Any) -> Parts:
        if self._state is not None:
            return super().state(env)
        bare = env.unwrapped
        for name in _COUNTERS:
            if hasattr(bare, name):
                setattr(bare, name, 0)
        return Parts([("state", self._told(bare))])

    def _told(self, bare: Any) -> Hashable:
        if hasattr(bare, "mode"):  # Autoencode: its state holds the cards to come
            hand = [int(bare.deck.suits_idx[i]) for i in bare.deck["system"]]
            return int(bare.mode), tuple(hand)
        if hasattr(bare, "facedown_card"):
            # Concentration: in its state, no card turned is the same number as one of the cards
            deck = bare.deck
            up, turned = sorted(deck["face_up_idx"]), deck["in_play_idx"]
            return canonical((bare.state, up, turned), "state")
        return canonical(bare.get_state(), "state")


def _dealt_when_asked(deck: Any) -> Any:
    """The class of a deck whose cards are drawn when they are dealt."""

    class Deck(deck):
        def reset(self, shuffle: bool = True, rng: Any = None) -> None:
            if not isinstance(rng, Draws):
                raise CannotEnumerate("a deck is shuffled by the generator of all programs")
            deck.reset(self, shuffle=False)
            self.rng, self.left = rng, list(range(self.num_cards))
            if self.at_once:
                self.idx = np.array([self._draw() for _ in range(self.num_cards)])

        def _draw(self) -> int:
            alike: dict[int, list[int]] = {}
            for card in self.left:
                alike.setdefault(int(self.sorts[card]), []).append(card)
            shares = [Fraction(len(cards), len(self.left)) for cards in alike.values()]
            drawn = list(alike.values())[self.rng.branches.draw(shares, "a card")][0]
            self.left.remove(drawn)
            return drawn

        def deal(self, player: str, num_cards: int = 1) -> None:
            if num_cards > self.deck_len:
                raise need("popgym.core.deck").DeckEmptyError
            self.hands[player] += [self._draw() for _ in range(num_cards)]
            self.deck_len -= num_cards

    return Deck
