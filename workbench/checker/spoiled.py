"""The one exception of the checker."""

from __future__ import annotations


class Spoiled(Exception):
    """A certificate that does not show what it says, or that cannot be read."""
