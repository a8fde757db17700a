"""Pictures of results: each function draws on matplotlib axes and returns them.

>>> import matplotlib
>>> matplotlib.use("Agg")
>>> from pomdps import recall4
>>> from workbench import evaluate, figures, uniform
>>> axes = figures.q_table(evaluate(recall4(), uniform(recall4())))

| function | picture |
|---|---|
| `memory_diagram` | how a policy moves through the memory, where shortcuts leave it (Figure 3) |
| `grid_policy` | a policy on its grid, one panel for each memory state that it reaches (Figure 2) |
| `grid_walk` | an agent on its grid, and where it has been |
| `policy_table`, `q_table` | a policy, q-values or TD values as heat maps with their numbers |
| `lambda_sweep` | TD(lambda) values for lambda from 0 to 1, and where greedy changes |
| `policy_flow` | the oracle loop on a slice of the policy simplex: its flow and its basins |
| `phase_portrait` | a learner's greedy policies, mean field, fixed points and runs on a plane |
| `belief_graph` | the reachable beliefs, step by step |
| `belief_values` | the best value over beliefs between two or three states, and the best actions |
| `controller_graph` | a finite-state controller: its nodes, and what leads from one to another |
| `frontier_plot` | best values against numbers of memory states |
| `learning_curves` | reward while learning, mean and band, by memory (Figures 2, 4, 11) |
| `oracle_values`, `greedy_values`, `greedy_raster` | values along the loop and along learning |

Results come from elsewhere (`transition_diagram`, `evaluate`, `sweep_lambda`, `policy_slice`,
`phase_plane`, `reachable_beliefs`, `controller_of`, `frontier`, `learn`, `improve`); nothing is
computed here but means and standard deviations over seeds. Without `axes` a function makes a new
pyplot figure, which Jupyter shows. A memory has the same look everywhere (`memory_style`); what a
colour tells, a line style, marker, hatch or frame tells too.

See also: `transition_diagram`, `sweep_lambda`, `policy_slice`, `phase_plane`.
"""

from workbench.figures.belief_graph import belief_graph
from workbench.figures.belief_values import belief_values
from workbench.figures.controller_graph import controller_graph
from workbench.figures.curves import (
    greedy_raster,
    greedy_values,
    learning_curves,
    memory_style,
    oracle_values,
)
from workbench.figures.frontier_plot import frontier_plot
from workbench.figures.grid_policy import grid_policy, grid_walk
from workbench.figures.heat_map import policy_table, q_table
from workbench.figures.lambda_lines import lambda_sweep
from workbench.figures.memory_diagram import memory_diagram
from workbench.figures.phase_portrait import phase_portrait
from workbench.figures.policy_flow import policy_flow

__all__ = [
    "belief_graph",
    "belief_values",
    "controller_graph",
    "frontier_plot",
    "greedy_raster",
    "greedy_values",
    "grid_policy",
    "grid_walk",
    "lambda_sweep",
    "learning_curves",
    "memory_diagram",
    "memory_style",
    "oracle_values",
    "phase_portrait",
    "policy_flow",
    "policy_table",
    "q_table",
]
