"""The counterexample lab: search many small tasks, and certify exactly what is found.

>>> from workbench.lab.sequences import SequenceTasks
>>> SequenceTasks(2, 2, lowest=0, highest=1).size
16

See also: `search`, `random_pomdp`.
"""
