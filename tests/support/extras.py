"""Modules of tests that need packages of an extra."""

from importlib.util import find_spec

import pytest


def skip_without(*packages: str, reason: str) -> None:
    """Skip the module unless all packages are there; none is imported, which may take seconds."""
    for package in packages:
        if find_spec(package.partition(".")[0]) is None or find_spec(package) is None:
            pytest.skip(f"{package} is missing: {reason}", allow_module_level=True)
