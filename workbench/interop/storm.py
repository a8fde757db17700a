"""Storm, a probabilistic model checker, as a second opinion (Hensel et al., 2022).

`export_drn` writes a model in Storm's explicit DRN format: a POMDP as it is, or the Markov chain
that a policy makes of it.

    states        in the order of P.S; then `done`, where a discounted episode stops; then `start`,
                  if mu is not one state
    discount      gamma < 1 becomes a probability 1 - gamma of going to `done` instead, so that the
                  undiscounted reward up to `done` is the discounted return
    rewards       R(s, a), or r_pi(s) for a chain: the format has no rewards of single outcomes
    observations  places in P.O; terminal states, `done` and `start`, where nothing is decided, have
                  observations of their own
    labels        `init`, `done` on terminal states too, and those that the states carry

Where a state has several observations the POMDP is written over pairs (s, o). Exact numbers are
written as fractions, symbols as parameters. `storm_value` has Storm compute the return of a policy.
It needs the extra `storm`: pip install 'memory-workbench[storm]'.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import sympy

from workbench.core.augment import augment
from workbench.core.errors import NeverEnds
from workbench.core.fields import field_of
from workbench.core.numbers import Number, is_symbolic, number
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.rows import row_places
from workbench.extras import need
from workbench.interop.explicit import BEGIN
from workbench.text import show

Row = dict[int, Number]
"""Probabilities by the number of the next state."""


def export_drn(P: POMDP, policy: Policy | None = None) -> str:
    """A POMDP, or the Markov chain of a policy, in Storm's DRN format.

    Parameters
    ----------
    policy : with a policy a DTMC is written, without one a POMDP.

    >>> from fractions import Fraction
    >>> third = Fraction(1, 3)
    >>> P = POMDP.from_functions(
    ...     name="try again",
    ...     A=["try"],
    ...     p=lambda s, a: {("end", 1): third, (s, 0): 1 - third},
    ...     omega=lambda s: {"o": 1},
    ...     mu={"s": 1},
    ...     gamma=1,
    ...     terminal={"end"},
    ... )
    >>> print(export_drn(P).split("@model")[1].strip())
    state 0 {0} [0] init
        action try [1/3]
            1 : 1/3
            0 : 2/3
    state 1 {1} [0] done
        action end [0]
            1 : 1

    See also: `load_drn`, `to_umb`, `storm_value`, `save_pomdp`, `save_controller`.
    """
    if policy is None:
        P = P if P.omega.is_deterministic else augment(P, "none")
    else:
        policy.fits(P)
    symbols = sorted(
        map(str, P.symbols | (policy.prob.symbols if policy is not None else frozenset()))
    )
    written = list(listed_states(P, policy))
    choices = sum(len(actions) for _, _, actions in written)
    lines = [
        f"// {' '.join(P.name.split())}" + ("" if policy is None else " under a policy"),
        f"@type: {'POMDP' if policy is None else 'DTMC'}",
        "@parameters",
        " ".join(symbols),
        "@reward_models",
        "reward",
        "@nr_states",
        str(len(written)),
        "@nr_choices",
        str(choices),
        "@model",
    ]
    for i, (o, labels, actions) in enumerate(written):
        seen = f" {{{o}}}" if policy is None else ""
        quoted = [f'"{word}"' if any(map(str.isspace, word)) else word for word in labels]
        lines.append(" ".join([f"state {i}{seen} [0]", *quoted]))
        for name, r, row in actions:
            lines.append(f"\taction {name} [{_text(r)}]")
            lines += [f"\t\t{j} : {_text(x)}" for j, x in row.items()]
    return "\n".join(lines) + "\n"


def storm_value(P: POMDP, pi: Policy, exact: bool = False) -> Number:
    """The return of a policy as Storm computes it.

    Parameters
    ----------
    exact : with Storm's exact engine, in rationals; model and policy must hold no floats. With
        symbols the result is a rational function in any case.

    >>> from workbench.core.policy import uniform
    >>> P = POMDP.from_functions(
    ...     name="try again",
    ...     A=["try"],
    ...     p=lambda s, a: {("end", 1): 1},
    ...     omega=lambda s: {"o": 1},
    ...     mu={"s": 1},
    ...     gamma=1,
    ...     terminal={"end"},
    ... )
    >>> storm_value(P, uniform(P), exact=True)  # doctest: +SKIP
    Fraction(1, 1)

    See also: `export_drn`, `evaluate`.
    """
    stormpy = need("stormpy", "storm")
    if not len(P.terminal) and P.gamma == 1:
        raise _never_ends(P)  # nothing is labelled `done`, which Storm does not take for "never"
    symbolic = bool(P.symbols | pi.prob.symbols)
    if exact or symbolic:
        field_of(P, pi, exact)  # raises NotExact for floats
    kind = stormpy.RationalFunction if symbolic else stormpy.Rational if exact else float
    environment = None
    if kind is float:
        environment = (
            stormpy.Environment()
        )  # elimination is direct; the iterative solvers take rewards to be at least 0
        environment.solver().set_linear_equation_solver_type(
            stormpy.environments.EquationSolverType.ELIMINATION
        )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chain.drn"
        path.write_text(export_drn(P, pi))
        model = stormpy.build_model_from_drn[kind](path)
    query = stormpy.parse_property('R=? [F "done"]')
    result = stormpy.model_checking(model, query, environment=environment)
    return _read(result.get_value(model.initial_states[0]), P)


def _read(found: Any, P: POMDP) -> Number:
    text = str(found)
    if text in ("inf", "infinity", "oo"):
        raise _never_ends(P)
    if isinstance(found, float):
        return found
    value = sympy.sympify(text.replace("^", "**"), rational=True)
    return number(sympy.cancel(value))


def _never_ends(P: POMDP) -> NeverEnds:
    return NeverEnds(
        f"gamma is 1 and the policy may never end in {P.name}, so its return is not defined"
    )


def listed_states(
    P: POMDP, policy: Policy | None = None
) -> Iterator[tuple[int, list[str], list[tuple[str, Number, Row]]]]:
    """Each state's observation, its labels, and its choices (name, reward, row)."""
    nS, discounted = len(P.S), P.gamma != 1
    done = nS
    only = int(P.mu.support[0]) if len(P.mu) == 1 else None
    names = action_names(P)
    ended = len(P.O)
    for s in range(nS):
        carried = [word for word in getattr(P.S[s], "labels", ()) if word not in ("init", "done")]
        labels = [*["init"][: s == only], *["done"][: bool(P.terminal.mask[s])], *carried]
        if P.terminal.mask[s]:
            yield ended, labels, [("end", 0, {s: 1})]
            continue
        row_ptr = P.p.row_ptr[s * len(P.A) : (s + 1) * len(P.A) + 1]
        there = np.flatnonzero(np.diff(row_ptr)).tolist()  # the actions that are allowed
        choices = [(names[a], *_outcomes(P, s, a, done)) for a in there]
        if policy is not None:
            acts = _acts(P, policy, s)
            choices = [_mixed(choices, [acts[a] for a in there])]
        yield int(P.omega.o[P.omega.row_ptr[s]]), labels, choices
    if discounted:
        yield ended, ["done"], [("end", 0, {done: 1})]
    if only is None:
        starts = {int(s): P.mu.prob[int(s)] for s in P.mu.support}
        yield ended + 1, ["init"], [(BEGIN, 0, starts)]


def _outcomes(P: POMDP, s: int, a: int, done: int) -> tuple[Number, Row]:
    """R(s, a) and the discounted row of (s, a)."""
    row = s * len(P.A) + a
    r: Number = 0
    found: Row = {}
    for k in row_places(P.p.row_ptr, row):
        s_next, x = int(P.p.s_next[k]), P.p.prob[k]
        r = r + x * P.p.r[k]
        found[s_next] = found.get(s_next, 0) + P.gamma * x
    if P.gamma != 1:
        found[done] = 1 - P.gamma
    return r, {j: x for j, x in found.items() if x != 0}


def _acts(P: POMDP, policy: Policy, s: int) -> list[Number]:
    """pi(a | s) = sum_o omega(o | s) pi(a | o)."""
    places = row_places(P.omega.row_ptr, s)
    return [
        sum(P.omega.prob[e] * policy.prob[int(P.omega.o[e]), a] for e in places)
        for a in range(len(P.A))
    ]


def _mixed(choices: list[tuple[str, Number, Row]], acts: list[Number]) -> tuple[str, Number, Row]:
    r: Number = 0
    found: Row = {}
    for x, (_, paid, row) in zip(acts, choices, strict=True):
        if x != 0:
            r = r + x * paid
            for j, y in row.items():
                found[j] = found.get(j, 0) + x * y
    return "0", r, found


def action_names(P: POMDP) -> list[str]:
    """The actions as words without spaces or brackets, all different."""
    words = [
        "".join(c if c.isalnum() or c in "_-" else "_" for c in show(a)).strip("_") or "_"
        for a in P.A
    ]
    return (
        words if len(set(words)) == len(words) else [f"{word}_{i}" for i, word in enumerate(words)]
    )


def _text(x: Number) -> str:
    x = number(x)
    if is_symbolic(x):
        return str(sympy.cancel(x)).replace("**", "^").replace(" ", "")
    return repr(x) if isinstance(x, float) else str(x)
