"""Networks of the daily tests are small: they train for a second, and compiling them takes most of
the time."""

from importlib.util import find_spec

import pytest


@pytest.fixture(autouse=True, scope="module")
def hasty_compiler(request):
    """Compile with few optimisations, except for the slow tests, which train for longer."""
    if find_spec("jax") is None or request.config.option.markexpr != "not slow":
        yield
        return
    import jax

    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)
