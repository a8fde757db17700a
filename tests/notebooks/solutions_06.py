"""Right answers to the exercises of notebook 06, and wrong ones."""

from fractions import Fraction

out = (
    {(None, (0, 0)): "right"}
    | {((x - 1, 0), (x, 0)): "right" for x in range(1, 4)}
    | {((3, 0), (4, 0)): "left"}
)
back = {((x + 1, 0), (x, 0)): "left" for x in range(1, 4)}
off_the_path = {((0, 0), (0, 0)): "down", ((4, 4), (1, 1)): "left"}  # the second cannot happen
climbs_first = out | back | {(None, (0, 0)): "up"}
turns_early = out | back | {((2, 0), (3, 0)): "left"}
waits_at_the_button = out | back | {((3, 0), (4, 0)): "down", ((4, 0), (4, 0)): "left"}

RIGHT = {1: [out | back, out | back | off_the_path], 2: [9220, Fraction(9220), 9220.0]}
WRONG = {
    1: [out, climbs_first, turns_early, waits_at_the_button, {(None, (0, 0)): "jump"}],
    2: [9219, 12, 10_000],
}
