"""Doctests of parts whose extra is not installed are left out."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("jax") else ["workbench/deep/*", "docs/deep.md"]
