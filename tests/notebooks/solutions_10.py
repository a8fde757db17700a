"""Right and wrong answers to the exercises of notebook 10."""

SWEEP = """
[grid]
task = "recall"
memory = ["OA1", "B2"]
learner = "qlearning"
step = [0.05, 0.1, 0.2]
seeds = 20
steps = 100_000
"""

RIGHT = {
    1: [
        SWEEP,
        SWEEP.replace("[grid]", "[lists]\nboth = ['OA1', 'B2']\n[[grid]]").replace(
            '["OA1", "B2"]', '"lists.both"'
        ),
    ],
    2: [{"d", "e"}, ["e", "d"]],
}

WRONG = {
    1: [
        SWEEP.replace("recall", "recall4"),
        SWEEP.replace("qlearning", "sarsa"),
        SWEEP.replace("0.2", "0.3"),
        SWEEP.replace("seeds = 20", "seeds = 10"),
        SWEEP.replace("steps = 100_000", "steps = [100_000, 200_000]"),
        SWEEP.replace("memory", "memories"),
    ],
    2: [{"d"}, {"b", "d", "e"}, {"a", "e"}, {"f"}, set()],
}
