"""Environments whose law of outcomes is known without running them.

Gymnasium's toy-text environments list their outcomes: `env.P[s][a]` holds (probability, next state,
reward, over) and `env.initial_state_distrib` the start. Such a list is read as it stands. Blackjack
lists nothing, and its hands are lists of cards, of which there are too many to explore; what
matters of them is little:

    the player's hand   its sum, whether an ace counts 11, whether it is a natural
    the dealer's hand   its two cards until the player sticks, then its score

so its law is the sum over the next card, and over the dealer's draws up to 17. Either law is
compared with the environment itself (`rollout`) before it is believed.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from fractions import Fraction
from functools import cache
from typing import Any

from workbench.core.numbers import Number
from workbench.extras import need
from workbench.interop.gym.draws import read_number

ToyState = Any
"""A state of a law: any hashable label."""
ToyOutcome = tuple[bool, ToyState, Number]
"""Whether the episode is over, the next state, and the reward."""


def law_of(env: Any) -> Law | None:
    """The law of an environment that is known to have one, if it is not wrapped."""
    bare = env.unwrapped
    if bare is not env:
        return None
    if isinstance(bare, need("gymnasium.envs.toy_text.blackjack").BlackjackEnv):
        return _Blackjack(bare)
    return _Listed(bare) if _is_listed(bare) else None


def _is_listed(bare: Any) -> bool:
    discrete = need("gymnasium.spaces").Discrete
    table, start = getattr(bare, "P", None), getattr(bare, "initial_state_distrib", None)
    if not isinstance(table, Mapping) or start is None:
        return False
    if not isinstance(bare.observation_space, discrete) or len(start) != bare.observation_space.n:
        return False
    rows = (row for actions in table.values() for row in actions.values())
    return all(sum(read_number(x) for x, *_ in row) == 1 for row in rows)


class _Listed:
    """The dynamics in `env.P` and `env.initial_state_distrib`. States are seen."""

    # every row of such a table is to be tried before it is believed

    is_claim = True

    def __init__(self, bare: Any):
        self.bare, self.table = bare, bare.P
        # The start is normalised by the environment itself, so its floats need not be simple.
        start = [read_number(x) for x in bare.initial_state_distrib]
        self.start = {s: x / sum(start) for s, x in enumerate(start) if x > 0}

    def starts(self) -> dict[ToyState, Fraction]:
        return dict(self.start)

    def outcomes(self, state: ToyState, action: Any) -> dict[ToyOutcome, Fraction]:
        found: dict[ToyOutcome, Fraction] = {}
        for x, s_next, r, over in self.table[state][action]:
            outcome = (bool(over), int(s_next), read_number(r))
            if x > 0:
                found[outcome] = found.get(outcome, Fraction(0)) + read_number(x)
        return found

    def see(self, state: ToyState) -> Hashable:
        return state

    def state_of(self, env: Any, over: bool) -> ToyState:
        """The state that the environment is in. After the end it is the name of that end."""
        return int(env.unwrapped.s)


_PLAYING, _PLAYED = "playing", "played"


class _Blackjack:
    """The law of Blackjack-v1, written with the rules of its own module.

    A state is ("playing", player, dealer's two cards), where the player is (sum, usable ace,
    natural), or ("played", player, dealer's shown card, dealer's score) after the player stuck.
    """

    is_claim = False

    def __init__(self, bare: Any):
        self.bare, self.rules = bare, need("gymnasium.envs.toy_text.blackjack")
        self.sab, self.natural = bool(bare.sab), bool(bare.natural)
        deck = self.rules.deck
        self.cards = {card: Fraction(deck.count(card), len(deck)) for card in dict.fromkeys(deck)}
        self._dealt = cache(self._dealt_from)

    def starts(self) -> dict[ToyState, Fraction]:
        found: dict[ToyState, Fraction] = {}
        for dealer, x in self._pairs():
            for player, y in self._pairs():
                state = (_PLAYING, self._player(player), dealer)
                found[state] = found.get(state, Fraction(0)) + x * y
        return found

    def _pairs(self) -> Iterator[tuple[tuple[int, int], Fraction]]:
        return (((a, b), self.cards[a] * self.cards[b]) for a in self.cards for b in self.cards)

    def _player(self, hand: Any) -> tuple[int, int, bool]:
        rules = self.rules
        return rules.sum_hand(hand), rules.usable_ace(hand), rules.is_natural(hand)

    def _hit(self, player: tuple[int, int, bool], card: int) -> tuple[int, int, bool]:
        # A hand with the same sum and the same usable ace, which is all that a hit depends on.
        total, ace, _ = player
        hand = [1, total - 11, card] if ace else [total, card]
        return self.rules.sum_hand(hand), self.rules.usable_ace(hand), False

    def outcomes(self, state: ToyState, action: Any) -> dict[ToyOutcome, Fraction]:
        _, player, dealer = state
        found: dict[ToyOutcome, Fraction] = {}
        if action:
            for card, x in self.cards.items():
                hand = self._hit(player, card)
                bust = hand[0] > 21
                outcome = (bust, (_PLAYING, hand, dealer), -1 if bust else 0)
                found[outcome] = found.get(outcome, Fraction(0)) + x
            return found
        for score, x in self._dealt(tuple(sorted(dealer))).items():
            r = self._paid(player, dealer, score)
            found[True, (_PLAYED, player, dealer[0], score), r] = x
        return found

    def _paid(self, player: tuple[int, int, bool], dealer: tuple[int, int], score: int) -> Number:
        r = read_number(self.rules.cmp(player[0], score))
        if player[2] and self.sab and not self.rules.is_natural(dealer):
            return Fraction(1)
        if player[2] and not self.sab and self.natural and r == 1:
            return Fraction(3, 2)
        return r

    def _dealt_from(self, cards: tuple[int, ...]) -> dict[int, Fraction]:
        """The distribution of the dealer's score. It depends on the cards and not on their
        order."""
        if self.rules.sum_hand(cards) >= 17:
            return {self.rules.score(cards): Fraction(1)}
        found: dict[int, Fraction] = {}
        for card, x in self.cards.items():
            for score, y in self._dealt(tuple(sorted((*cards, card)))).items():
                found[score] = found.get(score, Fraction(0)) + x * y
        return found

    def see(self, state: ToyState) -> Hashable:
        kind, (total, ace, _), dealer, *_ = state
        return total, dealer if kind == _PLAYED else dealer[0], ace

    def state_of(self, env: Any, over: bool) -> ToyState:
        bare = env.unwrapped
        player, dealer = self._player(bare.player), tuple(bare.dealer)
        if over and player[0] <= 21:
            return _PLAYED, player, dealer[0], self.rules.score(bare.dealer)
        return _PLAYING, player, dealer


Law = _Listed | _Blackjack
"""Where an environment starts, what an action does, what is seen."""
