"""Tasks as exact POMDPs, one module for each family, each with its known answers beside it."""

from pomdps.grids import gravity
from pomdps.recalls import recall, recall4, recall_variant

__all__ = ["gravity", "recall", "recall4", "recall_variant"]
