"""Right and wrong answers to the exercises of notebook 16."""

RIGHT = {1: [0.9875**10, 0.882], 2: [620_000, 1_700_000]}

WRONG = {1: [0.9875, 0.1, 8.8, "0.88"], 2: [300_000, 625_000, 5_000_000, 620_000.0]}
