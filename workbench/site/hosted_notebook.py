"""Links that open notebooks on Binder or Colab, and the cell that installs the workbench on Colab.

Binder builds what the folder `.binder` of a repository says, whatever host the repository has;
Colab opens a single file of a repository on GitHub, so that the rest has to be fetched: the judges
of the exercises lie beside the notebooks. Elsewhere the cell does nothing.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote, urlsplit

from workbench.core.errors import WorkbenchError

INSTALL_ID = "install"
"""The id of the cell that installs."""


_WHERE = "Colab installs from there; elsewhere this cell does nothing"


EXTRAS = ("proofs", "gym", "cluster")
"""What every notebook installs beside the workbench."""


def extras_of(notebook: dict[str, Any]) -> tuple[str, ...]:
    """The extras that a notebook installs: `EXTRAS`, and `deep` if its first words ask for it.

    >>> extras_of({"cells": [{"source": "This notebook needs the extra `deep`."}]})[-1]
    'deep'
    """
    words = "".join(notebook["cells"][0].get("source", ""))
    return (*EXTRAS, *(("deep",) if "the extra `deep`" in words else ()))


def install_cell(repository: str = "", extras: tuple[str, ...] = EXTRAS) -> dict[str, Any]:
    """The first cell of code in a notebook: on Colab it fetches and installs the workbench.

    Parameters
    ----------
    repository : its address; the cell asks for it where it is empty.
    extras : what is installed with it.

    >>> print(install_cell("https://example.org/me/workbench")["source"].splitlines()[0][:48])
    repository = "https://example.org/me/workbench"
    """
    source = f'''\
repository = "{checked_address(repository)}"  # {_WHERE}
if "google.colab" in str(get_ipython()):
    repository = repository or input("Address of the workbench's git repository: ")
    !git clone --quiet --depth 1 {{repository}} workbench-repository
    %pip install --quiet "./workbench-repository[{",".join(extras)}]"
    %cd -q workbench-repository/notebooks'''
    return {
        "cell_type": "code",
        "id": INSTALL_ID,
        "metadata": {},
        "execution_count": None,
        "outputs": [],
        "source": source,
    }


def without_install_cell(notebook: dict[str, Any]) -> dict[str, Any]:
    """A notebook without the cell that installs."""
    kept = [cell for cell in notebook["cells"] if cell.get("id") != INSTALL_ID]
    return {**notebook, "cells": kept}


def with_install_cell(notebook: dict[str, Any], repository: str = "") -> dict[str, Any]:
    """A notebook with the cell that installs after its first words, once."""
    cells = without_install_cell(notebook)["cells"]
    install = install_cell(repository, extras_of(notebook))
    return {**notebook, "cells": [*cells[:1], install, *cells[1:]]}


def hosted_links(repository: str, path: str) -> dict[str, str]:
    """Where a file of a repository can be opened and run, by the name of the place.

    >>> for place, link in hosted_links(
    ...     "https://github.com/me/lab.git", "notebooks/1.ipynb"
    ... ).items():
    ...     print(place, link)
    Binder https://mybinder.org/v2/gh/me/lab/HEAD?labpath=notebooks%2F1.ipynb
    Colab https://colab.research.google.com/github/me/lab/blob/HEAD/notebooks/1.ipynb
    >>> hosted_links("https://example.org/me/lab", "1.ipynb")  # doctest: +ELLIPSIS
    {'Binder': 'https://mybinder.org/v2/git/https%3A%2F%2Fexample.org%2Fme%2Flab/HEAD?...ipynb'}
    """
    address = checked_address(repository)
    if not address:
        return {}
    parts = urlsplit(address)
    name = parts.path.strip("/")
    provider = {"github.com": f"gh/{name}", "gitlab.com": f"gl/{quote(name, safe='')}"}.get(
        parts.netloc, f"git/{quote(address, safe='')}"
    )
    found = {
        "Binder": f"https://mybinder.org/v2/{provider}/HEAD?labpath={quote(path, safe='')}",
    }
    if parts.netloc == "github.com":
        found["Colab"] = f"https://colab.research.google.com/github/{name}/blob/HEAD/{quote(path)}"
    return found


def checked_address(repository: str) -> str:
    """The address of a repository without the parts that a browser adds. Anything but an https
    address of a repository is refused.

    >>> checked_address("https://github.com/me/lab.git/")
    'https://github.com/me/lab'
    """
    found = repository.strip().rstrip("/").removesuffix(".git")
    if found and not _ADDRESS.fullmatch(found):
        raise WorkbenchError(
            f"{repository!r} is no address of a repository: say https://HOST/OWNER/NAME"
        )
    return found


_ADDRESS = re.compile(r"https://[A-Za-z0-9.-]+(:\d+)?(/[A-Za-z0-9._~-]+){2,}")
"""No letter of it means anything to a shell, to Python or to HTML."""
