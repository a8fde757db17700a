"""Packages of optional extras, imported on demand, with a clear word where they are missing."""

from __future__ import annotations

import importlib
from typing import Any

from workbench.core.errors import WorkbenchError


class MissingExtra(WorkbenchError, ImportError):
    """A package of an optional extra is not installed."""


def need(module: str, extra: str = "gym") -> Any:
    """The module, or `MissingExtra` with the command that installs it.

    >>> need("no_such_package")
    Traceback (most recent call last):
    ...
    workbench.extras.MissingExtra: no_such_package is not installed: pip install
    'memory-workbench[gym]'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != module.split(".")[0]:
            raise  # it is there, but something that it imports is not
        raise MissingExtra(
            f"{module} is not installed: pip install 'memory-workbench[{extra}]'"
        ) from None
