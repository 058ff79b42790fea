"""A pytest plugin: nbval gives each notebook a progress folder of its own.

So a notebook that shows the learner's progress prints the same in every order. Use with
`-p scripts.nbval_home`.
"""

import os

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Change $ATTN_HOME before the kernel of the next notebook starts."""
    notebook = getattr(item, "parent", None)
    started = getattr(notebook, "kernel", None) is not None
    if type(notebook).__name__ == "IPyNbFile" and not started:
        name = item.nodeid.split("::")[0].replace(os.sep, "-")
        os.environ["ATTN_HOME"] = os.path.join(HOME, name)


HOME = os.environ.get("ATTN_HOME", "")
if not HOME:
    raise pytest.UsageError("set ATTN_HOME to an empty folder (see scripts/isolated.py)")
