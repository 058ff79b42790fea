"""Try the conclusions of the lessons again: on other seeds, trained longer, at other learning rates.

A conclusion stands in the lesson's cell, as an assertion with a sentence:

    assert flat < 0.2, "ALiBi loses little on texts of eight times the length"

Each lesson runs again under every variation, with every assertion recorded instead of raised. The
condition is the measurement that would refute the sentence; its two sides are the evidence.
"""

import argparse
import ast
import contextlib
import io
import json
import multiprocessing
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path

import nbformat

ROOT = Path(__file__).parents[1]
# Seeds that no lesson uses: what a lesson draws by seed s is drawn by SEEDS[i] + s.
SEEDS = (1000, 2000, 3000, 4000, 5000)


@dataclass(frozen=True)
class Variation:
    """A change of everything in a lesson that rests on chance or training."""

    name: str
    seed: int = 0
    steps: float = 1.0
    lr: float = 1.0


VARIATIONS = [
    *(Variation(f"seed {seed}", seed) for seed in SEEDS),
    Variation("steps × 2", SEEDS[0], steps=2.0),
    Variation("rate / 2", SEEDS[0], lr=0.5),
    Variation("rate × 2", SEEDS[0], lr=2.0),
]


class Recorded(ast.NodeTransformer):
    """Turn assertions into records, and scale what is called `steps` in calls and signatures."""

    def __init__(self, steps: float) -> None:
        self.steps = steps

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        says = node.msg.value if isinstance(node.msg, ast.Constant) else ""
        name = ast.Constant(ast.unparse(node.test)), ast.Constant(says)
        match node.test:
            case ast.Compare(left, ops, comparators):
                signs = ast.Constant(" ".join(type(op).__name__ for op in ops))
                values = ast.Tuple([left, *comparators], ast.Load())
            case test:
                signs, values = ast.Constant(""), ast.Tuple([test], ast.Load())
        call = ast.Call(ast.Name("_record", ast.Load()), [*name, signs, values], [])
        return ast.copy_location(ast.Expr(self.generic_visit(call)), node)

    def scaled(self, value: ast.AST | None) -> None:
        if isinstance(value, ast.Constant) and isinstance(value.value, int):
            value.value = round(value.value * self.steps)

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        if node.arg == "steps":
            self.scaled(node.value)
        return self.generic_visit(node)

    def visit_arguments(self, node: ast.arguments) -> ast.AST:
        named = node.args[len(node.args) - len(node.defaults) :]
        for arg, value in zip(named, node.defaults, strict=True):
            if arg.arg == "steps":
                self.scaled(value)
        return self.generic_visit(node)


COMPARE = {
    "Lt": lambda a, b: a < b,
    "LtE": lambda a, b: a <= b,
    "Gt": lambda a, b: a > b,
    "GtE": lambda a, b: a >= b,
    "Eq": lambda a, b: a == b,
    "NotEq": lambda a, b: a != b,
    "In": lambda a, b: a in b,
    "NotIn": lambda a, b: a not in b,
    "Is": lambda a, b: a is b,
    "IsNot": lambda a, b: a is not b,
}


def vary(variation: Variation) -> None:
    """Shift seeds and scale learning rates in all of this process."""
    import torch

    shift, rate = variation.seed, variation.lr
    seed_all = torch.manual_seed

    class Generator(torch.Generator):
        def manual_seed(self, seed: int) -> torch.Generator:
            return super().manual_seed(seed + shift)

    torch.manual_seed = lambda seed: seed_all(seed + shift)
    torch.Generator = Generator  # type: ignore[misc]
    build = torch.optim.Optimizer.__init__

    def optimizer(self, params, defaults):
        build(self, params, defaults | {"lr": defaults["lr"] * rate})

    torch.optim.Optimizer.__init__ = optimizer
    cycle = torch.optim.lr_scheduler.OneCycleLR.__init__

    def schedule(self, optimizer, max_lr, *args, **kwargs):
        cycle(self, optimizer, max_lr * rate, *args, **kwargs)

    torch.optim.lr_scheduler.OneCycleLR.__init__ = schedule


def run(lesson: Path, variation: Variation) -> dict:
    """Run all cells of a lesson in this process; return its records by condition, and its errors."""
    import matplotlib

    matplotlib.use("Agg")
    from IPython.core.interactiveshell import InteractiveShell

    os.chdir(lesson.parent)
    vary(variation)
    shell = InteractiveShell.instance()
    shell.ast_transformers.append(Recorded(variation.steps))
    records: dict[str, dict] = {}
    errors = {}
    where = 0

    def record(condition, says, signs, values):
        compare = [COMPARE[sign] for sign in signs.split()]
        pairs = zip(compare, values, values[1:], strict=False)
        holds = all(bool(f(a, b)) for f, a, b in pairs) if compare else bool(values[0])
        entry = records.setdefault(
            f"{where}: {condition}", dict(cell=where, says=says, holds=True, values=[])
        )
        entry["holds"] &= holds
        with contextlib.suppress(TypeError, ValueError, RuntimeError):
            entry["values"].append([round(float(value), 4) for value in values])

    shell.user_ns["_record"] = record
    began = time.time()
    for where, cell in enumerate(nbformat.read(lesson, as_version=4).cells):
        if cell.cell_type == "code":
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                result = shell.run_cell(cell.source)
            if error := result.error_before_exec or result.error_in_exec:
                errors[where] = f"{type(error).__name__}: {error}"[:300]
    return dict(records=records, errors=errors, seconds=round(time.time() - began))


def work(job: tuple[Path, Variation]) -> tuple[Path, Variation, dict]:
    return *job, run(*job)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("lessons", nargs="*", type=Path)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    lessons = args.lessons or sorted((ROOT / "notebooks").glob("*.ipynb"))
    jobs = [(lesson.resolve(), v) for v in VARIATIONS for lesson in lessons if not args.only or v.name in args.only]
    context = multiprocessing.get_context("spawn")
    with context.Pool(int(os.environ.get("JOBS", 1)), maxtasksperchild=1) as pool, args.out.open("a") as out:
        for lesson, variation, result in pool.imap(work, jobs):
            print(json.dumps(dict(lesson=lesson.stem, variation=variation.name, **result)), file=out, flush=True)
            bad = [k for k, r in result["records"].items() if not r["holds"]]
            print(lesson.stem, variation.name, f"{result['seconds']} s", len(result["records"]), "records", flush=True)
            for k in bad:
                print("   FALSE", k, result["records"][k]["says"], result["records"][k]["values"][:6])
            for cell, error in result["errors"].items():
                print("   ERROR", cell, error)


if __name__ == "__main__":
    main()
