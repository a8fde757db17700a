"""Theorems of our own on the oracle loop, with the same standard as the paper's statements.

tables    tasks of two steps whose rewards are a table r[a1][a2], and what the loop does on them
buffers   OA1 on two steps; K(T-1) and tasks of T steps
bits      B(k) on tables of two actions: where it is stuck, and that no memory is better there
histories buffers that must push and hold the history: how fast the loop reaches the best
shares    a task on which eight memories hurt; how often memory hurts; more actions
saddles   symmetric tables on which the loop stays at a saddle, for every step
soft      the smallest aliased task on which softmax Q-learning has two attracting fixed points
traps     policy-gradient ascent with B(k) on 4-action recall ends at 3/4 for every k
"""
