"""What other papers found about memoryless, finite-memory and agent-state policies, run again.

One module for each paper. Its `PAPER` says what it is and how its numbers are known here:

    read      the text was at hand
    quoted    widely quoted, not read again
    ours      our own values, of the paper's task or question

Ids begin with P and the key of the paper: P.littman1994.grid. `workbench verify --paper
littman1994` judges one paper's claims.
"""

from proofs.papers.paper import PAPERS, Paper

__all__ = ["PAPERS", "Paper"]
