"""POMDPs in the languages of PRISM and JANI, which Storm builds.

Storm lists the states exactly and writes them as DRN, which `load_drn` reads. States are named by
the values of their variables and keep their labels. It needs the extra `storm`: pip install
'memory-workbench[storm]'.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from workbench.core.errors import ModelError, TooLarge, UnknownLabel
from workbench.core.numbers import Number
from workbench.core.pomdp import POMDP
from workbench.extras import need
from workbench.interop.drn_file import KINDS, load_drn
from workbench.output import read_whole

_MOST_STATES = 200_000
"""More states than this take minutes to read, and no exact function takes them."""


def from_prism(
    path: str | Path,
    constants: Mapping[str, Number] | str = "",
    reward: str | None = None,
    gamma: Number = 1,
) -> POMDP:
    """Read a POMDP, an MDP or a Markov chain from a PRISM or JANI file, through Storm.

    Parameters
    ----------
    path : of the file; one that ends in .jani is read as JANI.
    constants : the constants that the file leaves open, as {"N": 3} or "N=3,p=0.5".
    reward : the reward model, if there are several.
    gamma : the discount factor.

    >>> text = '''dtmc
    ... const double p;
    ... module coin
    ...   x : [0..2];
    ...   [] x=0 -> p : (x'=1) + 1-p : (x'=2);
    ... endmodule
    ... label "heads" = x=1;'''
    >>> with tempfile.TemporaryDirectory() as folder:  # doctest: +SKIP
    ...     _ = Path(folder, "coin.prism").write_text(text)
    ...     from_prism(f"{folder}/coin.prism", {"p": "1/3"})
    POMDP coin: 3 states (2 terminal), 3 observations, 1 action, 2 outcomes, gamma 1

    See also: `load_drn`, `from_umb`, `storm_value`, `with_goal`.
    """
    stormpy = need("stormpy", "storm")
    path = Path(path)
    text = read_whole(path)  # says why a file cannot be read
    if re.search(rb"^\s*hole\b", text, re.M):  # Storm would only say that it cannot parse them
        raise ModelError(
            f"{path.name} has holes, so it is a family of models: make each `hole int x in ...;` a "
            "`const int x;` and give it a value"
        )
    given = constants
    if not isinstance(constants, str):
        given = ",".join(f"{name}={value}" for name, value in constants.items())
    try:
        if path.suffix.lower() == ".jani":
            program, _ = stormpy.parse_jani_model(path)
        else:
            program = stormpy.parse_prism_program(path)
        _check_constants(program, str(given), path.name)
        program, _ = stormpy.instantiate_constants(program, given)
        model = stormpy.build_model[stormpy.Rational](program, options=_options(stormpy))
        kind = str(model.model_type).rpartition(".")[2].upper()
        if kind == "POMDP":
            model = need("stormpy.pomdp", "storm").make_canonic(model)
    except RuntimeError as error:  # what Storm raises for whatever is wrong
        raise ModelError(f"Storm does not build {path.name}: {error}") from None
    if kind not in KINDS:
        raise ModelError(
            f"{path.name} is a model of type {kind}; the workbench reads {', '.join(KINDS)}"
        )
    if model.nr_states > _MOST_STATES:
        raise TooLarge(
            f"{path.name} has {model.nr_states:,} states; at most {_MOST_STATES:,} are read"
        )
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder) / f"{path.stem}.drn"
        need("stormpy.io", "storm").export_to_drn(model, listed)
        return load_drn(listed, reward, gamma)


def _options(stormpy: object) -> object:
    options = stormpy.BuilderOptions()  # type: ignore[attr-defined]
    options.set_build_all_labels()
    options.set_build_all_reward_models()
    options.set_build_choice_labels()
    options.set_build_state_valuations()
    options.set_scale_and_lift_transition_rewards()  # DRN has no rewards of single branches
    return options


def _check_constants(program: object, given: str, name: str) -> None:
    """Say which constants the file leaves open."""
    is_open = {c.name for c in program.constants if not c.defined}  # type: ignore[attr-defined]
    named = {part.partition("=")[0].strip() for part in given.split(",") if part.strip()}
    if missing := sorted(is_open - named):
        raise ModelError(f"{name} leaves constants open: give {', '.join(missing)}")
    if unknown := sorted(named - is_open):
        raise UnknownLabel(
            f"{name} leaves no constant {unknown[0]!r} open; open are "
            f"{', '.join(sorted(is_open)) or 'none'}"
        )
