"""Right answers to the exercises of notebook 09, and wrong ones."""

import sympy

from workbench import Memory, memories

gamma = sympy.Symbol("gamma")
positive = sympy.Symbol("gamma", positive=True)
root = sympy.sqrt((1 - gamma) * (1 + 3 * gamma))
BUTTON = (4, 0)


def other(m):
    return "off" if m == "on" else "on"


def automatic(flips, M=("on", "off"), W=("-",)):
    """A memory that flips when `flips(o, o_next)`."""
    return Memory(
        "force",
        M=M,
        W=W,
        eta={"on": 1},
        Gamma=lambda m, w, o, a, r, o_next: {other(m) if flips(o, o_next) else m: 1},
    )


on_entering = automatic(lambda o, o_next: o_next == BUTTON != o)
on_leaving = automatic(lambda o, o_next: o == BUTTON)
next_to_the_button = automatic(lambda o, o_next: o_next == (3, 0) != o)
three_states = automatic(lambda o, o_next: o_next == BUTTON != o, M=("on", "off", "spare"))
two_writes = automatic(lambda o, o_next: o_next == BUTTON != o, W=("-", "+"))

RIGHT = {
    1: [
        (gamma - 1 + root) / (2 * gamma),
        ((gamma - 1 + root) / (2 * gamma)).subs(gamma, positive),
        lambda g: (g - 1 + ((1 - g) * (1 + 3 * g)) ** 0.5) / (2 * g),
    ],
    2: [on_entering, on_leaving],
}
WRONG = {
    1: [
        1 - gamma,
        (gamma - 1 - root) / (2 * gamma),
        (gamma - 1 + root) / 2,
        gamma,
        (1 - gamma) * sympy.Symbol("x"),
    ],
    2: [next_to_the_button, three_states, two_writes, memories.B(1)],
}
