"""Right and wrong answers to the exercises of notebook 14."""

EMPTY, BUTTON = (None,), (0,)

AWAY = {(BUTTON, cell): ("right", "keep") for cell in range(1, 5)}

START = {(EMPTY, 2): ("left", "keep"), (EMPTY, 1): ("left", "keep")}

RIGHT = {
    1: [
        {**START, (EMPTY, 0): ("right", "push"), **AWAY},
        {
            (EMPTY, 2): ("left", "push"),
            ((2,), 1): ("left", "keep"),
            ((2,), 0): ("right", "push"),
            **AWAY,
        },
    ],
    2: [
        (((None,), 2), ("right", "push")),
        (((2,), 1), ("right", "push")),
    ],
}

WRONG = {
    1: [
        {**START, (EMPTY, 0): ("right", "keep"), **AWAY, (EMPTY, 3): ("right", "keep")},
        {**START, (EMPTY, 0): ("right", "push")},
        {**START, (EMPTY, 0): ("left", "push"), (BUTTON, 0): ("right", "keep"), **AWAY},
        {**START, (EMPTY, 0): ("right", "write")},
    ],
    2: [
        (((0,), 1), ("left", "push")),
        (((None,), 2), ("left", "push")),
        (((None,), 7), ("left", "push")),
    ],
}
