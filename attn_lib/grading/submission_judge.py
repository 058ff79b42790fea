"""Judge one submission: its cells and answers run in the sandbox, the verdicts are made out here."""

import difflib
import hmac
import json
import random
import re
import time
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from attn_lib.checks import Verdict, tasks, wording
from attn_lib.checks.case import Case, run_known
from attn_lib.checks.compare import Difference
from attn_lib.checks.judge import judge_observed
from attn_lib.checks.module_runs import (
    MODULE_RUNS,
    inputs_and_options,
    run_known_module,
    run_module_in_eval,
)
from attn_lib.checks.observe import (
    Outcome,
    Raised,
    changed,
    finish,
    named_tensors,
    observe,
    walled_off,
)
from attn_lib.checks.served import Heard
from attn_lib.checks.task import Task
from attn_lib.checks.trial import Trial, trial_of
from attn_lib.grading.definitions import Cell
from attn_lib.grading.names import clean
from attn_lib.grading.sandbox import Died, Sandbox, start
from attn_lib.grading.submission import defined_at_top
from attn_lib.grading.visible_course import course_for
from attn_lib.grading.wire import BadMessage, pack, unpack_call, unpack_outcome
from attn_lib.grading.worker import module_turn, one_turn

CELL_SECONDS = 60.0  # for one cell; with one thread, training takes longer than at home
CASE_SECONDS = 20.0  # for one call of an answer
TASK_SECONDS = 60.0  # for all calls of one answer
SUBMISSION_SECONDS = 300.0  # for everything
RESTARTS = 8  # of the process, when cells end it
MEMORY = 104 << 20  # bytes of the process, more than at first, on a task's large input
MOST = 3  # broken cells that are named
_QUOTES = re.compile("[“”]")  # in which a learner's words stand
NONSENSE = TypeError, ValueError, AttributeError, OverflowError, RecursionError


class Judge:
    """Judges the tasks of one submission, with a new process after each death.

    Args:
        cells: the Python cells of the notebook.
        lesson: whose tasks are judged.
        seed: private; the inputs of each task are drawn with it, the task's name and the cells.
        unsafe: without the sandbox.
    """

    def __init__(self, cells: list[str], lesson: int, *, seed: int, unsafe: bool = False):
        self.cells, self.lesson, self.seed, self.unsafe = cells, lesson, seed, unsafe
        self.key = keyed(str(seed).encode(), json.dumps(cells))
        self.fatal: dict[int, str] = {}  # cells that end the process, and how
        self.broken: dict[int, str] = {}  # cells that raise an error, and which
        self.end = self.task_end = time.monotonic() + SUBMISSION_SECONDS
        self.sandbox: Sandbox | None = None
        self.there: set[str] = set()  # answers that the cells left behind
        self.defined: list[Cell] = []  # what each cell defines; [] until it was read

    def verdict(self, task: Task) -> Verdict:
        """Judge one task; `with` ends the process afterwards."""
        self.task_end = self.end
        try:
            sandbox = self.sandbox = self.sandbox or self._start()
        except Died as death:
            return self._failed(task, f"The notebook cannot be run: {death}.")
        if task.name not in self.there:
            text = f"Nothing in the notebook is named `{task.name}`."
            other = self._another_name(task)
            text += f" Is it what is named `{other}`?" if other else ""
            text += self._fatal_cells() + self._broken_cells()
            stopped = (self.cells[n] for n in (*self.fatal, *self.broken))
            written = any(task.name in defined_at_top(cell) for cell in stopped)
            status = "error" if written or other else "not attempted"
            return Verdict(task.name, status, evidence=text, max_points=task.points)
        self.task_end = min(self.end, time.monotonic() + TASK_SECONDS)
        tried = trial_of(task.name, self._seed(task))
        current = ""

        def observed(case: int, gradients: bool) -> Outcome:
            nonlocal current
            given, end = tried.cases[case], partial(self._end, CASE_SECONDS)
            current = given.about
            if given.in_turns:
                return _observe_turns(sandbox, task, given, end)
            wanted = tried.expected(case, gradients=True).gradients if gradients else None
            return _observe(sandbox, task, given, end(), wanted)

        def again(case: int, how: str) -> Outcome:
            return _observe(
                sandbox, task, tried.cases[case], self._end(CASE_SECONDS), how=how
            )

        try:
            verdict = judge_observed(tried, observed, again)
            if verdict.status == "passed" and task.make_large:
                current = "a very long text"
                return self._measured(sandbox, task) or verdict
            if verdict.status == "passed":
                current = "several calls of one module"
                return self._called_again(sandbox, tried) or verdict
            return verdict
        except Died as death:
            self.close()
            return self._failed(task, f"On the input “{current}”, {death}.")

    def close(self) -> None:
        """End the process; the next task starts another one."""
        if self.sandbox:
            self.sandbox.close()
        self.sandbox = None

    def __enter__(self) -> "Judge":
        return self

    def __exit__(self, *args: object) -> None:
        self.close()

    def _measured(self, sandbox: Sandbox, task: Task) -> Verdict | None:
        """Run a right answer on the task's large input; return a verdict if it is not right there, too,
        or the process takes too much memory, which nothing inside can hide.
        """
        assert task.make_large
        case = task.make_large(torch.Generator().manual_seed(self._seed(task)))
        quick = run_known(case.run)
        if case.finish:  # few rows are compared: which ones, nothing inside can find out
            first = keyed(self.key, f"{task.name}: rows")[0]
            case = replace(case, finish=partial(case.finish, first=first))
            quick = partial(quick, first=first)
        with sandbox.measured() as held:
            got = _observe(sandbox, task, case, self._end(CASE_SECONDS))
        ours = observe(task.library, replace(case, run=quick))
        found = wording.difference(task, case, ours, got)
        if not found and held() > MEMORY:
            text = (
                f"The process held {held() >> 20} MB while your answer ran, what your cells keep included. "
                f"Here it may hold {MEMORY >> 20} MB: a number for each pair of tokens takes more."
            )
            found = Difference(text)
        return (
            wording.failed(task, wording.Failure(case, got, found), None) if found else None
        )

    def _called_again(self, sandbox: Sandbox, tried: Trial) -> Verdict | None:
        """Call modules of a right answer several times; return a verdict if one keeps something.

        `run_module` does so, too, but inside, where it can be replaced. Here each call comes by itself.
        """
        runs = [case for case in tried.cases if case.run in MODULE_RUNS]
        for case in random.Random(self._seed(tried.task)).sample(runs, min(3, len(runs))):
            init, parameters, *given = case.args
            inputs, options = inputs_and_options(tuple(given))
            turned = [x.flip(1) for x in inputs]
            number, is_eval = None, case.run is run_module_in_eval
            for call, these in enumerate((turned, inputs, turned), 1):
                arguments = init, parameters, *these, options
                about = f"{case.about}: call {call} of one module"
                shown = replace(case, about=about, args=arguments)
                turn = replace(shown, args=(number, is_eval, *arguments), run=module_turn)
                got = _observe(sandbox, tried.task, turn, self._end(CASE_SECONDS))
                if not got.error:
                    number = got.values.pop() if got.values else None
                    if type(number) is not int:
                        raise Died("it sent nonsense to the judge")
                    got.is_sequence = len(got.values) > 1
                ours = observe(tried.task.reference, replace(shown, run=run_known_module))
                if found := wording.difference(tried.task, shown, ours, got):
                    failure = wording.Failure(shown, got, found)
                    return wording.failed(tried.task, failure, None)
        return None

    def _seed(self, task: Task) -> int:
        """Return the seed of a task's inputs. Whoever finds it out learns nothing of other tasks and learners."""
        return int.from_bytes(keyed(self.key, task.name)[:4])

    def _end(self, seconds: float) -> float:
        """Return the deadline of the next step, which has `seconds` at most."""
        now = time.monotonic()
        end = min(now + seconds, self.task_end, self.end)
        if end <= now:
            raise Died("it took too long altogether")
        return end

    def failed_cells(self) -> str:
        """Say which cells were left out, and which stopped at an error that is more than an open task.

        Cells after the last definition decide nothing; some show what cannot be imported here.
        """
        return (self._fatal_cells() + self._broken_cells(of_answers=True)).strip()

    def _another_name(self, task: Task) -> str:
        """Return a name that the notebook defines and that is nearly a task's, or ""."""
        known = {task.name for task in tasks()}
        defined = [name for cell in self.defined for name in cell if name not in known]
        holds = [name for name in defined if task.name.lower() in name.lower()]
        near = holds or difflib.get_close_matches(task.name, defined, 1, 0.8)
        return clean(near[0])[:60] if near else ""

    def _failed(self, task: Task, text: str) -> Verdict:
        text += self._fatal_cells()
        return Verdict(task.name, "error", evidence=text, max_points=task.points)

    def _fatal_cells(self) -> str:
        return "".join(
            f" Code cell {n + 1} was left out: {how}." for n, how in self.fatal.items()
        )

    def _broken_cells(self, of_answers: bool = False) -> str:
        broken = self.broken
        if of_answers:
            wanted = {task.name for task in tasks() if task.lesson == self.lesson}
            defining = [n for n, c in enumerate(self.cells) if wanted & defined_at_top(c)]
            broken = {
                n: kind
                for n, kind in broken.items()
                if not kind.startswith("NotImplementedError")
                and n <= max(defining, default=n)
            }
        said = [
            f" Code cell {n + 1} raised “{kind}”{self._begins(n)}."
            for n, kind in broken.items()
            if not "".join(self.cells[n : n + 1]).startswith(
                "check("
            )  # ours: it only says it once more
        ]
        more = f" So did {len(said) - MOST} more." if len(said) > MOST else ""
        return "".join(said[:MOST]) + more

    def _begins(self, n: int) -> str:
        """Return how a cell begins, for who looks for it: Jupyter shows other numbers."""
        lines = self.cells[n].splitlines() if n < len(self.cells) else []
        first = next((line for line in lines if line.strip()), "")
        return f" (it begins “{_QUOTES.sub(chr(39), clean(first.strip()))[:50]}”)"

    def _start(self) -> Sandbox:
        """Start a process and run the cells; leave out those that end it."""
        for _ in range(RESTARTS):
            sandbox = start(course_for(self.lesson), unsafe=self.unsafe)
            running, reads = -1, not self.defined
            try:
                wanted = [task.name for task in tasks() if task.lesson == self.lesson]
                if reads:  # before anything runs in there
                    self.defined = [{} for _ in self.cells]
                    parts = {"read": self.cells, "wanted": wanted}
                    sandbox.ask(parts, [], self._end(CELL_SECONDS))
                    self.defined = sandbox.hear(self._end(CELL_SECONDS))[0]["read"]
                    reads = False
                request = {"cells": self.cells, "skip": list(self.fatal), "wanted": wanted}
                sandbox.ask(request, [], self._end(CELL_SECONDS))
                for _ in range(2 * len(self.cells) + 1):
                    message, _ = sandbox.hear(self._end(CELL_SECONDS))
                    if "defined" in message:
                        self.there = {str(name) for name in message["defined"]}
                        return sandbox
                    number = int(message.get("cell", running))
                    if not 0 <= number < len(self.cells):
                        raise ValueError(f"there is no cell {number:.0e}")
                    running = number
                    if message.get("problem"):
                        self.broken[running] = _QUOTES.sub(
                            "'", clean(str(message["problem"]))
                        )[:160]
                raise Died("it sent too many messages")
            except (Died, *NONSENSE) as death:
                sandbox.close()
                if reads:
                    continue
                if not 0 <= running < len(self.cells) or running in self.fatal:
                    raise Died(str(death)) from death
                self.fatal[running] = str(death)
        raise Died("too many of its cells end the process")


def keyed(key: bytes, text: str) -> bytes:
    """Return a hash of a text that tells nothing of its key."""
    return hmac.digest(key, text.encode(), "sha256")


def _observe(
    sandbox: Sandbox,
    task: Task,
    case: Case,
    end: float,
    gradients: Iterable[str] | None = None,
    how: str = "",
) -> Outcome:
    """Run the answer on one case, inside; return what it is said to have done before a deadline.

    Args:
        gradients: the names of those that are wanted; None runs it without.
        how: under which other condition, one of `experiments`.
    """
    blobs = list[bytes]()
    serves = Heard(case.serves) if case.serves else None
    request = {
        "task": task.name,
        "run": f"{case.run.__module__}:{case.run.__name__}",
        "gradients": gradients is not None,
        "how": how,
        "serves": serves is not None,
        "args": pack(case.args, blobs),
    }
    sandbox.ask(request, blobs, end)
    header, data = sandbox.hear(end)
    try:
        with walled_off() if serves else nullcontext():
            while serves and isinstance(header, dict) and "call" in header:
                blobs = []
                reply = pack(serves(*unpack_call(header, data)), blobs)
                sandbox.ask(reply, blobs, end)
                header, data = sandbox.hear(end)
        outcome = unpack_outcome(header, data, gradients or ())
    except BadMessage as error:
        raise Died("it sent nonsense to the judge") from error
    if time.monotonic() > end:  # what it makes the judge do takes of its time
        raise Died("it ran too long")
    if serves and serves.refused and outcome.error is None:
        kind, text = serves.refused
        outcome.error, outcome.values = Raised(kind, text, text, is_wrong=True), []
    if outcome.error is None:
        known = named_tensors(case.args)
        lists = {name.rpartition(".")[0] for name in known if "." in name}
        different = changed(case.args, outcome.after)
        outcome.changed = [n for n in different if n in known or _is_item(n, lists)]
    with walled_off():
        finish(outcome, case)
    if time.monotonic() > end:
        raise Died("what it returned took too long to be compared")
    return outcome


def _is_item(name: str, lists: set[str]) -> bool:
    """Say whether this can be the path of a tensor that was put into one of some lists."""
    parent, _, place = name.rpartition(".")
    return parent in lists and place.isdecimal() and len(place) < 6


class _Ended(Exception):
    """A call inside went wrong, so the case ends."""


def _observe_turns(
    sandbox: Sandbox, task: Task, case: Case, end: Callable[[], float]
) -> Outcome:
    """Play a case of several calls out here; inside, each call knows its own arguments only.

    Args:
        end: returns the deadline of the next call.
    """
    said: list[Outcome] = []
    death: Died | None = None

    def answer(*args: Any) -> Any:
        nonlocal death
        try:
            said.append(_observe(sandbox, task, Case("", args, one_turn), end()))
        except Died as error:
            death = error
            raise _Ended from error
        return _returned(said[-1], args)

    outcome = observe(answer, case)
    if death:
        raise death
    if said and (outcome.error is None or said[-1].error):
        outcome.error = said[-1].error
        outcome.untouched = said[-1].untouched
    outcome.printed = "".join(call.printed for call in said)
    return outcome


def _returned(call: Outcome, args: tuple) -> Any:
    """Return what a call inside returned, and change what it changed."""
    if call.error:
        raise _Ended
    for name in call.changed:
        args[int(name)].fill_(torch.nan)
    if call.untouched:
        return None
    return tuple(call.values) if call.is_sequence else call.values[0]
