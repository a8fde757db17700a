"""Tasks as exact POMDPs, one module for each family, each with its known answers beside it."""

from pomdps.classics import load_unload, short_corridor, shuttle, tiger
from pomdps.grids import gravity
from pomdps.hallway import hallway_cookie, hallway_keys
from pomdps.mazes import cheese_maze, four_by_three, heaven_hell, t_maze
from pomdps.minigrid_tasks import memory_s7, red_blue_doors
from pomdps.recalls import recall, recall4, recall_variant

__all__ = [
    "cheese_maze",
    "four_by_three",
    "gravity",
    "hallway_cookie",
    "hallway_keys",
    "heaven_hell",
    "load_unload",
    "memory_s7",
    "recall",
    "recall4",
    "recall_variant",
    "red_blue_doors",
    "short_corridor",
    "shuttle",
    "t_maze",
    "tiger",
]
