"""Experiments as data: the tabular figures of the paper and sweeps of one's own, computed anywhere,
stored cell by cell.

| module | what it holds |
|---|---|
| `experiment` | an experiment as a record: task, methods, memories, length, measure |
| `spec` | sweeps as TOML files |
| `cell` | what is computed and stored as one, and its key |
| `compute` | what a cell computes: the run of a learner, the oracle loop |
| `worker` | what a worker does: batches of cells |
| `store`, `lock` | finished cells on disk, and which process computes which |
| `run_cells` | cells found or computed, on any executor (`workbench.executors.executor`) |
| `estimate` | how long cells take and how much room they need |
| `display` | the progress display |
| `results` | cells put together: of an experiment, of a folder |

An outcome goes one way: `learn` returns a `Run`, a cell's file holds its columns, and reading it
gives a `Run` again, which judges read and figures draw.
"""
