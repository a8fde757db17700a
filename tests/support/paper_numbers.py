"""Numbers printed in the paper, or that follow from it by hand, each with its place."""

from fractions import Fraction

F = Fraction

UNIFORM_Q_B1 = {
    # Lemma C.4: (m, (a, w)) -> q; the paper prints decimals (-0.916, 0.2916, -1.4583, -0.47916,
    # -1.25, ...)
    (m, (a, w)): q
    for w in "01"
    for a, (q0, q1) in enumerate(
        [
            (F(-11, 12), F(-5, 4)),
            (F(7, 24), F(1, 2)),
            (F(-35, 24), F(-19, 8)),
            (F(-23, 48), F(9, 16)),
        ]
    )
    for m, q in (("0", q0), ("1", q1))
}

GRAVITY_BEST_STEPS = 12  # Section 4, Figure 2: 4 to the button, 4 back, 4 up; the last one pays
