"""Run a command that must not touch, or depend on, what is this user's own.

A learner's progress ($ATTN_HOME) and IPython's start-up files ($IPYTHONDIR) are replaced by empty
temporary folders; model hubs are not asked.
"""

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def isolated_environment() -> Iterator[dict[str, str]]:
    """Yield the environment for a process that starts without anything of the user's."""
    with tempfile.TemporaryDirectory(prefix="attn-", ignore_cleanup_errors=True) as folder:
        home, ipython = Path(folder, "home"), Path(folder, "ipython")
        ipython.mkdir()
        yield os.environ | {
            "ATTN_HOME": str(home),
            "IPYTHONDIR": str(ipython),
            "HF_HUB_OFFLINE": "1",
        }


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit("usage: isolated.py COMMAND [ARGUMENT ...]")
    with isolated_environment() as environment:
        try:
            code = subprocess.run(sys.argv[1:], env=environment).returncode
        except KeyboardInterrupt:
            code = 130
    sys.exit(code)
