"""Right and wrong answers to the exercises of notebook 18."""

RIGHT = {1: [11], 2: [{(8, 13): "up", (4, 2): "down", (1, 1): "right"}]}

WRONG = {
    1: [12, 102, 11.0, "11"],
    2: [
        {(8, 13): "down", (4, 2): "down", (1, 1): "right"},
        {(8, 13): "up", (4, 2): "down"},
        {(8, 13): "up", (4, 2): "left", (1, 1): "right"},
        ["up", "down", "right"],
    ],
}
