"""Experiments as data: the tabular figures of the paper and sweeps of one's own, computed anywhere,
stored cell by cell.

| module | what it holds |
|---|---|
| `records` | each figure of the paper as a declarative record |
| `spec` | sweeps as TOML files |
| `cells` | the pieces that are computed and stored, and their content keys |
| `computing`, `looping` | what a piece computes: learners, the oracle loop |
| `working` | what a worker does: batches of pieces |
| `storage`, `claims` | finished pieces on disk, and which process computes which |
| `running` | pieces found or computed, on any engine (`workbench.executors.executor`) |
| `calibration` | how long pieces take and how much room they need |
| `display` | the progress display |
| `listing` | what a folder of pieces holds |
| `results` | curves put together from pieces |
| `statistics` | means, differences and proportions with their intervals |
| `statements` | what the paper says about each figure, judged by the results |
| `drawing` | results as matplotlib figures |
| `report` | figures, numbers and `report.html` |
"""
