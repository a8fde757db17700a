"""Results as pictures: each function takes results, draws them on matplotlib axes, and returns the axes.

| function | picture |
|---|---|
| `memory_diagram` | how a policy moves through the memory states, and where shortcuts leave it (Figure 3) |
| `grid_policy` | a policy on its grid, one panel for each memory state that it reaches (Figure 2) |
| `policy_table`, `q_table` | a policy, q-values or TD values as heat maps with the numbers in the cells |
| `learning_curves` | reward while learning, mean and band, by memory (Figures 2, 4, 11) |
| `oracle_values`, `greedy_values`, `greedy_raster` | values of the oracle loop, and of greedy policies while learning |

Nothing is computed here but means and standard deviations over seeds. Without `axes` a function makes a new pyplot figure,
which Jupyter shows. A memory has the same look everywhere (`memory_style`); what colour tells, line style, marker, hatch or
a frame tells too.
"""

from workbench.figures.curves import greedy_raster, greedy_values, learning_curves, memory_style, oracle_values
from workbench.figures.diagrams import memory_diagram
from workbench.figures.grids import grid_policy
from workbench.figures.tables import policy_table, q_table

__all__ = [
    "greedy_raster",
    "greedy_values",
    "grid_policy",
    "learning_curves",
    "memory_diagram",
    "memory_style",
    "oracle_values",
    "policy_table",
    "q_table",
]
