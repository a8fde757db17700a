"""The tabular experiments of the paper as data, run in parallel, stored cell by cell, drawn, and judged.

| module | what it holds |
|---|---|
| `records` | each figure as a declarative record |
| `cells` | the pieces that are computed and stored, and their content keys |
| `computing`, `looping` | what a piece computes: learners, the oracle loop |
| `storage` | finished pieces on disk |
| `running` | pieces in parallel threads |
| `display` | the progress display |
| `results` | curves put together from pieces |
| `statistics` | means, differences and proportions with their intervals |
| `statements` | what the paper says about each figure, judged by the results |
| `drawing` | results as matplotlib figures |
| `report` | figures, numbers and `report.html` |
"""
