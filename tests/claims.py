"""Try what the lessons conclude again, and write the page *How sure are we*: `make claims`.

A conclusion stands in the cell that shows it, as an assertion with a sentence:

    assert lost["ALiBi"] < 0.2, "ALiBi loses little on a text of eight times the length."

Each lesson runs again on seeds that no lesson uses, then with twice the steps, and with half and twice
the learning rate. There, every assertion is recorded. Its condition is what would refute the sentence,
the numbers that it compares are the evidence. A sentence that names its "steps" is about this length of
training, and is not tried with another; the same holds for its "learning rate".

Runs are kept in .claims.jsonl until the code of their lesson changes, sentences apart: what was
interrupted goes on. All of them take hours; `python -m tests.claims --page` writes the page from those there are.
"""

import argparse
import ast
import contextlib
import json
import operator
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import nbformat

from attn_lib.files import write_whole

ROOT = Path(__file__).resolve().parents[1]
RUNS = ROOT / ".claims.jsonl"
PAGE = ROOT / "site" / "how_sure.md"


@dataclass(frozen=True)
class Variation:
    """A change of everything in a lesson that rests on chance or training."""

    name: str
    seed: int = 0  # added to each seed
    steps: float = 1.0  # a factor
    lr: float = 1.0  # a factor

    def concerns(self, says: str) -> bool:
        """Whether a sentence says more than what holds at its own steps and learning rate."""
        return not (
            (self.steps != 1 and "steps" in says)
            or (self.lr != 1 and "learning rate" in says)
        )


SEEDS = (1000, 2000, 3000, 4000, 5000)
VARIATIONS = (
    *(Variation(f"seed {seed}", seed) for seed in SEEDS),
    Variation("steps × 2", 1000, steps=2.0),
    Variation("rate ÷ 2", 1000, lr=0.5),
    Variation("rate × 2", 1000, lr=2.0),
)
COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}


class Recording(ast.NodeTransformer):
    """Turn assertions into calls of `_record`, and scale numbers called `steps`.

    An assertion without a sentence in a function stays: a test of the lesson's own has to raise.
    """

    def __init__(self, steps: float) -> None:
        self.steps = steps
        self.functions = 0  # around this place

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.functions += 1
        self.generic_visit(node)
        self.functions -= 1
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        if self.functions and not sentence(node):
            return node
        test = node.test
        values = [test.left, *test.comparators] if isinstance(test, ast.Compare) else [test]
        signs = (
            [type(op).__name__ for op in test.ops] if isinstance(test, ast.Compare) else []
        )
        about = ast.Constant((ast.unparse(test), *signs))
        call = ast.Call(ast.Name("_record", ast.Load()), [about, *values], [])
        return ast.fix_missing_locations(
            ast.copy_location(ast.Expr(self.generic_visit(call)), node)
        )

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        if node.arg == "steps":
            self.scale(node.value)
        return self.generic_visit(node)

    def visit_arguments(self, node: ast.arguments) -> ast.AST:
        arguments = node.posonlyargs + node.args
        pairs = zip(reversed(arguments), reversed(node.defaults), strict=False)
        for argument, default in (
            *pairs,
            *zip(node.kwonlyargs, node.kw_defaults, strict=True),
        ):
            if argument.arg == "steps":
                self.scale(default)
        return self.generic_visit(node)

    def scale(self, value: ast.AST | None) -> None:
        if isinstance(value, ast.Constant) and isinstance(value.value, int):
            value.value = round(value.value * self.steps)


def sentence(node: ast.Assert) -> str:
    """Return the sentence of an assertion; nothing, if it has none or only a message."""
    says = getattr(node.msg, "value", None)
    return says if isinstance(says, str) and says.endswith(".") else ""


def vary(variation: Variation) -> None:
    """Shift all seeds, scale all learning rates, and train anew what comes trained, in this process."""
    import torch

    seed_all = torch.manual_seed

    class Generator(torch.Generator):
        def manual_seed(self, seed: int) -> torch.Generator:
            return super().manual_seed(seed + variation.seed)

    torch.manual_seed = lambda seed: seed_all(seed + variation.seed)
    torch.Generator = Generator  # type: ignore[misc]
    torch.optim.Optimizer.__init__ = with_rate(torch.optim.Optimizer.__init__, variation.lr)
    schedule = torch.optim.lr_scheduler.OneCycleLR
    schedule.__init__ = with_rate(schedule.__init__, variation.lr)  # it sets the rate anew

    from attn_lib.data import position_models as shipped

    def trained_anew(scheme: str) -> tuple[list, str]:
        ids, _, vocabulary = shipped.split_help()
        models = [shipped.new_model(scheme, len(vocabulary), s) for s in shipped.SEEDS]
        steps = round(shipped.STEPS * variation.steps)
        for model, seed in zip(models, shipped.SEEDS, strict=True):
            shipped.learn(model, ids, seed, steps)
        return models, vocabulary

    shipped.trained = trained_anew


def with_rate(init: Callable, factor: float) -> Callable:
    def scaled(self: Any, what: Any, rate: Any, *args: Any, **kwargs: Any) -> None:
        new = (
            rate | {"lr": rate["lr"] * factor} if isinstance(rate, dict) else rate * factor
        )
        init(self, what, new, *args, **kwargs)

    return scaled


def run(lesson: Path, variation: Variation) -> dict:
    """Run all cells of a lesson in this process; return what its assertions found."""
    import matplotlib
    from IPython.core.interactiveshell import InteractiveShell

    matplotlib.use("Agg")
    os.chdir(lesson.parent)
    vary(variation)
    found: dict[str, dict] = {}
    errors: dict[int, str] = {}

    def record(about: tuple[str, ...], *values: Any) -> None:
        condition, *signs = about
        if signs:
            compare = (COMPARE[getattr(ast, sign)] for sign in signs)
            pairs = zip(compare, values, values[1:], strict=False)
            holds = all(bool(f(a, b)) for f, a, b in pairs)
        else:
            holds = bool(values[0])
        entry = found.setdefault(f"{number}: {condition}", dict(holds=True, values=[]))
        entry["holds"] &= holds
        with contextlib.suppress(TypeError, ValueError, RuntimeError):  # no numbers
            entry["values"].append([float(value) for value in values])

    shell = InteractiveShell.instance()
    shell.ast_transformers.append(Recording(variation.steps))
    shell.user_ns["_record"] = record
    began = time.monotonic()
    with contextlib.ExitStack() as quiet:
        nowhere = quiet.enter_context(open(os.devnull, "w"))
        quiet.enter_context(contextlib.redirect_stdout(nowhere))
        quiet.enter_context(contextlib.redirect_stderr(nowhere))
        for number, source in cells(lesson):
            result = shell.run_cell(source)
            if error := result.error_before_exec or result.error_in_exec:
                errors[number] = f"{type(error).__name__}: {error}"[:200]
    return dict(found=found, errors=errors, seconds=round(time.monotonic() - began))


def cells(lesson: Path) -> list[tuple[int, str]]:
    """Return the cells of code, counted from 1."""
    notebook = nbformat.read(lesson, as_version=4)
    sources = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    return [*enumerate(sources, start=1)]


def without_sentences(source: str) -> str:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            node.msg = None
    return ast.unparse(tree)


def sentences(lesson: Path) -> Iterator[tuple[int, str, str]]:
    """Yield cell, sentence and condition of each conclusion of a lesson."""
    for number, source in cells(lesson):
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Assert) and sentence(node):
                yield number, sentence(node), ast.unparse(node.test)


def variations(lesson: Path) -> tuple[Variation, ...]:
    """Return what a lesson is tried with: one that trains nothing, with other seeds only."""
    trains = any("steps=" in source for _, source in cells(lesson))
    return VARIATIONS if trains else VARIATIONS[: len(SEEDS)]


def code_of(lesson: Path) -> str:
    """Return a hash of the cells of code, sentences apart."""
    sources = [without_sentences(source) for _, source in cells(lesson)]
    return sha256(json.dumps(sources).encode()).hexdigest()[:16]


def key(lesson: Path, variation: Variation) -> str:
    return f"{lesson.stem} {code_of(lesson)} {variation}"


def kept() -> dict[str, dict]:
    """Return the runs that are kept, by their key."""
    lines = RUNS.read_text(encoding="utf-8").splitlines() if RUNS.exists() else []
    return {run["key"]: run for run in map(json.loads, lines)}


def fallen(result: dict, variation: Variation, says: dict[str, str]) -> Iterator[str]:
    """Yield a line for each assertion that fell where it should hold, and for each cell that raised.

    Args:
        result: of `run`.
        variation: the one that was tried.
        says: the sentences, by cell and condition.
    """
    for place, entry in result["found"].items():
        if not entry["holds"] and variation.concerns(says.get(place, "")):
            yield f"code cell {place}   {says.get(place, '')}   {entry['values'][:4]}"
    for cell, error in result["errors"].items():
        yield f"code cell {cell} raised {error}"


UNTRIED = "not yet tried"
INTRODUCTION = """\
# How sure are we?

A lesson shows what happened on a few seeds. Would it happen again? Each conclusion below stands in its
lesson as an assertion, beside the cell that shows it. Lessons run again on {seeds} seeds that no
lesson uses, and, where it trains, once each with twice the steps, with half, and with twice the learning rate.

*Holds if* is the condition: find a case where it is false, and the sentence is refuted. *Held* says in how many runs
it was tried since the lesson's code changed, in how many it held, and how many are to come. *Seen* are the
smallest and the largest of the numbers that it compares, over all runs. Where it is a single number, nothing
rests on chance, and all runs are one and the same. A sentence that names its steps or its learning rate claims
nothing about others. `make claims` computes this page.
"""


def page(lessons: list[Path], runs: dict[str, dict], before: str) -> str:
    """Return the page in Markdown: a table for each lesson; what has no run here stays, if its code is the same."""
    sections = dict(re.findall(r"^## (\d\d)(.*?)(?=^## |\Z)", before, re.M | re.S))
    for lesson in lessons:
        rows = [row(lesson, *claim, runs) for claim in sentences(lesson)]
        title = nbformat.read(lesson, as_version=4).cells[0].source.splitlines()[0]
        mark = f"<!-- code {code_of(lesson)} -->"
        was = sections.get(title[2:4], "")
        if mark in was:
            told = {line.rsplit(" | ", 2)[0]: line for line in was.splitlines()}
            rows = [told.get(r.rsplit(" | ", 2)[0], r) if UNTRIED in r else r for r in rows]
        table = [mark, "", "| Conclusion | Holds if | Held | Seen |", "|-|-|-|-|", *rows]
        sections[title[2:4]] = "\n".join([title[4:], "", *table, "", ""]) if rows else ""
    made = (f"## {number}{text}" for number, text in sorted(sections.items()) if text)
    return INTRODUCTION.format(seeds=len(SEEDS)) + "\n" + "".join(made)


def row(lesson: Path, cell: int, says: str, condition: str, runs: dict[str, dict]) -> str:
    held, tried, values = 0, 0, []
    wanted = [v for v in variations(lesson) if v.concerns(says)]
    for variation in wanted:
        result = runs.get(key(lesson, variation))
        found = result["found"] if result else {}
        # What stands in a function is recorded where the function was called.
        called = [found[place] for place in found if place.partition(": ")[2] == condition]
        here = found.get(f"{cell}: {condition}")
        if entries := [here] if here else called:
            tried += 1
            held += all(entry["holds"] for entry in entries)
            values += [both for entry in entries for both in entry["values"]]
    test = ast.parse(condition, mode="eval").body
    sides = [test.left, *test.comparators] if isinstance(test, ast.Compare) else [test]
    seen = " and ".join(
        span(numbers)
        for side, numbers in zip(sides, zip(*values, strict=False), strict=False)
        if not isinstance(side, ast.Constant | ast.UnaryOp)
    )
    code = condition.replace("|", r"\|")
    share = f"{held}\u00a0of\u00a0{tried}" if tried else UNTRIED
    if 0 < tried < len(wanted):
        share += f", {len(wanted) - tried} to come"
    return f"| {says} | `{code}` | {share} | {seen} |"


def span(numbers: tuple[float, ...]) -> str:
    ends = dict.fromkeys((f"{min(numbers):.3g}", f"{max(numbers):.3g}"))
    return " to ".join(ends)


def main() -> int:
    """Run what is not kept, write the page, and return 1 if a conclusion fell."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("lessons", nargs="*", help="such as 08; all, if none is named")
    parser.add_argument("--page", action="store_true", help="run nothing, write the page")
    options = parser.parse_args()
    everything = sorted((ROOT / "notebooks").glob("*.ipynb"))
    chosen = [p for p in everything if not options.lessons or p.name[:2] in options.lessons]
    runs, bad = kept(), 0
    jobs = [
        (v, p)
        for v in VARIATIONS
        for p in chosen
        if not options.page and v in variations(p) and key(p, v) not in runs
    ]
    workers = max(1, (os.cpu_count() or 1) // 2)  # lessons train on two threads
    with ProcessPoolExecutor(workers, get_context("spawn"), max_tasks_per_child=1) as pool:
        futures = {pool.submit(run, p, v): (p, v) for v, p in jobs}
        for done, future in enumerate(as_completed(futures), start=1):
            lesson, variation = futures[future]
            result = future.result() | {"key": key(lesson, variation)}
            runs[result["key"]] = result
            with RUNS.open("a", encoding="utf-8") as file:
                print(json.dumps(result), file=file)
            head = f"{done} of {len(jobs)}: {lesson.stem}, {variation.name}"
            print(f"{head}: {result['seconds']} s", flush=True)
    for lesson in chosen:
        says = {f"{cell}: {condition}": text for cell, text, condition in sentences(lesson)}
        for variation in variations(lesson):
            result = runs.get(key(lesson, variation), dict(found={}, errors={}))
            for line in fallen(result, variation, says):
                bad += 1
                print(f"FELL {lesson.stem}, {variation.name}, {line}")
    before = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    write_whole(PAGE, page(chosen, runs, before))
    print(f"{bad} fell; wrote {PAGE.relative_to(ROOT)}")
    return min(bad, 1)


if __name__ == "__main__":
    sys.exit(main())
