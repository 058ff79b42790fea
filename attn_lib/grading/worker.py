"""Runs a learner's notebook and answers, inside the sandbox.

Everything here shares a process with a stranger's code, so nothing that this process says is
believed: it sends what the answers returned, and the judge outside decides.
"""

import builtins
import gc
import os
import random
import socket
import sys
import types
from typing import Any

# Before torch: one thread, and no picture windows.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")

import numpy as np

from attn_lib.checks.observe import observe
from attn_lib.checks.task import Case
from attn_lib.grading.wire import find, pack_outcome, receive, send, unpack

# Cell magics whose body is ordinary Python.
TRANSPARENT = {"time", "timeit", "capture", "prun"}
QUIET = types.SimpleNamespace(status="not attempted", points=0, inputs={}, message="")


class Shell:
    """What `get_ipython()` gives: magics do nothing, but those around ordinary code run it."""

    def __init__(self, names: dict[str, Any]):
        self.names = names

    def run_cell_magic(self, magic: str, line: str, body: str) -> None:
        if magic in TRANSPARENT:
            exec(compile(body, "<cell>", "exec"), self.names)

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: None


def get_ready() -> None:
    """Import what notebooks are likely to import, and what answering needs."""
    import IPython.core.inputtransformer2  # noqa: F401
    import matplotlib.pyplot  # noqa: F401


def main(channel: int) -> None:
    """Answer requests until the judge hangs up.

    Args:
        channel: an open socket to the judge.
    """
    random.seed(0)  # the same submission gets the same result
    np.random.seed(0)
    judge = socket.socket(fileno=channel)
    requests, replies = judge.makefile("rb"), judge.makefile("wb")
    module = types.ModuleType("__main__")
    names = vars(module)
    sys.modules["__main__"] = module
    shell = Shell(names)
    names.update(get_ipython=lambda: shell, display=lambda *args, **kwargs: None)
    vars(builtins)["get_ipython"] = names["get_ipython"]
    send(replies, "ready", [])
    while True:
        try:
            header, data = receive(requests)
        except EOFError:
            return
        if "cells" in header:
            run_cells(header["cells"], header["skip"], names, replies)
        else:
            blobs: list[bytes] = []
            answer: Any = names.get(header["task"])
            outcome = observe(
                answer, make_case(header, data), gradients=header["gradients"]
            )
            send(replies, pack_outcome(outcome, blobs), blobs)


def make_case(header: Any, data: memoryview) -> Case:
    """Build the case of a request; only functions of the checks can be its `run`."""
    return Case("", unpack(header["args"], data), find(header["run"]))


def run_cells(cells: list[str], skip: list[int], names: dict[str, Any], replies) -> None:
    """Run a notebook's cells, each for itself; say which begins, so that a death can be placed."""
    for number, source in enumerate(cells):
        if number in skip:
            continue
        send(replies, {"cell": number}, [])
        problem = ""
        try:
            exec(compile(plain_python(source), f"<cell {number + 1}>", "exec"), names)
        except BaseException as error:  # one broken cell does not take the others with it
            problem = type(error).__name__
        send(replies, {"done": number, "problem": problem}, [])
    gc.collect()
    defined = sorted(name for name, value in names.items() if callable(value))
    send(replies, {"defined": defined[:1000]}, [])


def plain_python(source: str) -> str:
    """Turn magics, `!commands` and `name?` into calls that do nothing here."""
    if not any(sign in source for sign in "%!?"):
        return source
    from IPython.core.inputtransformer2 import TransformerManager

    return TransformerManager().transform_cell(source)
