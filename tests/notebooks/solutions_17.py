"""Right and wrong answers to the exercises of notebook 17."""

RIGHT = {1: [2], 2: [0.96]}

WRONG = {1: [1, 3, 2.0, 0, "2"], 2: [0.9, 0.99, 2.0, "0.96"]}
