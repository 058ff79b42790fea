"""Runs a learner's notebook and answers, inside the sandbox.

Everything here shares a process with a stranger's code, so nothing that this process says is
believed: it sends what the answers returned, and the judge outside decides.
"""

import __future__

import ast
import asyncio
import builtins
import gc
import inspect
import linecache
import random
import socket
import sys
import types
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from attn_lib.checks.afresh import afresh
from attn_lib.checks.again import find
from attn_lib.checks.case import Case
from attn_lib.checks.experiments import otherwise
from attn_lib.checks.module_runs import built, inputs_and_options
from attn_lib.checks.observe import observe
from attn_lib.checks.say import safe_str
from attn_lib.grading.definitions import definitions
from attn_lib.grading.wire import pack_call, pack_outcome, receive, send, unpack

# Cell magics whose body is ordinary Python.
TRANSPARENT = {"time", "timeit", "capture", "prun"}

FUTURES = sum(
    getattr(__future__, name).compiler_flag for name in __future__.all_feature_names
)


class Notebook:
    """Runs cells one after another, as Jupyter does.

    Args:
        names: what the cells define.
    """

    def __init__(self, names: dict[str, Any]):
        self.names = names
        self.flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        self.loop: asyncio.AbstractEventLoop | None = None

    def run(self, source: str, place: str) -> None:
        """Run Python, magics and all. A `from __future__ import` holds for later cells too.

        Args:
            source: the code.
            place: its name in error messages.
        """
        try:
            code = self._compiled(source, place)
        except SyntaxError:
            source = plain_python(source)
            code = self._compiled(source, place)
        # So that `inspect.getsource`, and with it `torch.jit.script`, finds what cells define.
        linecache.cache[place] = len(source), None, source.splitlines(True), place
        self.flags |= code.co_flags & FUTURES
        value = eval(code, self.names)
        if code.co_flags & inspect.CO_COROUTINE:
            self.loop = self.loop or asyncio.new_event_loop()
            self.loop.run_until_complete(value)

    def _compiled(self, source: str, place: str) -> types.CodeType:
        return compile(source, place, "exec", self.flags)


class Nothing:
    """A stand-in for what a notebook may ask for and is not here: a call gives None."""

    def __getattr__(self, name: str) -> Any:
        return Nothing()

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        return None


class Shell(Nothing):
    """The result of `get_ipython()`: magics do nothing, but those around ordinary code run it."""

    def __init__(self, notebook: Notebook):
        self.notebook = notebook

    def run_cell_magic(self, magic: str, line: str, body: str) -> None:
        if magic in TRANSPARENT:
            self.notebook.run(body, f"<%%{magic}>")
        if magic == "writefile":
            Path(line.split()[-1]).write_bytes(body.encode())

    def run_line_magic(self, magic: str, line: str, *args: Any) -> None:
        if magic == "time":
            self.notebook.run(line, "<%time>")

    def getoutput(self, command: str, *args: Any, **kwargs: Any) -> list:
        return []


def get_ready() -> None:
    """Import what notebooks are likely to import, and what answering needs."""
    import IPython.core.inputtransformer2  # noqa: F401
    import matplotlib.pyplot  # noqa: F401

    torch.compile = uncompiled


def uncompiled(model: Any = None, **options: Any) -> Any:
    """Stand in for `torch.compile`, which would start a compiler: give the function as it is."""
    return (lambda function: function) if model is None else model


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
    notebook = Notebook(names)
    shell = Shell(notebook)
    names.update(get_ipython=lambda: shell, display=lambda *args, **kwargs: None)
    for place in (builtins, sys.modules.get("IPython")):
        if place:
            vars(place)["get_ipython"] = names["get_ipython"]
    vars(builtins)["input"] = lambda prompt="": ""  # there is nobody to ask
    send(replies, "ready", [])
    while True:
        try:
            header, data = receive(requests)
        except EOFError:
            return
        if "read" in header:
            read = [definitions(cell, header["wanted"]) for cell in header["read"]]
            send(replies, {"read": read}, [])
        elif "cells" in header:
            run_cells(header, notebook, replies)
        else:
            blobs: list[bytes] = []
            answer: Any = names.get(header["task"])
            serves = partial(serve, requests, replies) if header["serves"] else None
            args, run = unpack(header["args"], data), find(header["run"])
            case = Case("", args, run, serves=serves)
            if header["how"]:
                copy = _afresh.get(header["task"])
                outcome = otherwise(answer, copy, case, header["how"])
            else:
                outcome = observe(answer, case, gradients=header["gradients"])
            send(replies, pack_outcome(outcome, blobs), blobs)


def serve(requests: Any, replies: Any, given: list[Any], gradient: Any) -> Any:
    """Let the judge call what an answer may call, and not look into."""
    blobs: list[bytes] = []
    send(replies, pack_call(given, gradient, blobs), blobs)
    return unpack(*receive(requests))


_afresh: dict[str, Any] = {}  # the answers, as they were before the first call
_kept: list[Any] = []  # modules, and what calls returned second, for the next turns


def one_turn(answer: Any, *args: Any) -> Any:
    """Run one call of a case of several: the last argument, and what is returned second, stay here.

    The judge knows only their numbers, or None.
    """
    *tensors, number = args
    result = answer(*tensors, None if number is None else _kept[number])
    if not isinstance(result, tuple | list) or len(result) != 2 or result[1] is None:
        return result
    _kept.append(result[1])
    return result[0], len(_kept) - 1


def module_turn(
    answer: Any,
    number: int | None,
    is_eval: bool,
    init: tuple,
    parameters: dict,
    *given: Any,
) -> Any:
    """Call a module, a new one or that of an earlier turn; return also its number, which is all that the judge knows."""
    inputs, options = inputs_and_options(given)
    if number is None:
        module, _ = built(answer, init, parameters, inputs, options)
        _kept.append(module.train(not is_eval))
        number = len(_kept) - 1
    with torch.no_grad():
        value = _kept[number](*inputs, **options)
    return (*value, number) if isinstance(value, tuple | list) else (value, number)


def run_cells(header: Any, notebook: Notebook, replies: Any) -> None:
    """Run a notebook's cells, each for itself; say which begins, so that a death can be placed."""
    for number, source in enumerate(header["cells"]):
        if number in header["skip"]:
            continue
        send(replies, {"cell": number}, [])
        problem = ""
        try:
            notebook.run(source, f"<cell {number + 1}>")
        except BaseException as error:  # one broken cell does not take the others with it
            problem = _said(error)
            if isinstance(error, ModuleNotFoundError):
                parts = str(error.name).split(".")
                name = error.name if all(map(str.isidentifier, parts)) else "?"
                problem = (
                    f"ModuleNotFoundError: there is no module `{name}` where it was graded"
                )
        send(replies, {"done": number, "problem": problem}, [])
    gc.collect()
    defined = [name for name in header["wanted"] if callable(notebook.names.get(name))]
    _afresh.update({name: afresh(notebook.names[name]) for name in defined})
    send(replies, {"defined": defined}, [])


def _said(error: BaseException) -> str:
    """Return the class of an error and the beginning of its message, and for a SyntaxError the line."""
    message = error.msg if isinstance(error, SyntaxError) else safe_str(error)
    line = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
    return f"{type(error).__name__}: {message}"[:120].rstrip(": ") + line


def plain_python(source: str) -> str:
    """Turn magics, `!commands`, `name?` and prompts into Python, as Jupyter does."""
    from IPython.core.inputtransformer2 import TransformerManager

    return TransformerManager().transform_cell(source)
