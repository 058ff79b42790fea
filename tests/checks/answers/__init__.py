"""Right and wrong answers that no row makes: one module for each task, named after it."""

import random
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path

from attn_lib.checks.rows import Row, Variants, lines_of
from attn_lib.checks.task import find_task

# A mask that allows everything may have any shape that broadcasts to the scores.
ALL_ALLOWED = [
    {"everything": f"torch.ones(scores.shape{cut}, dtype=torch.bool)"}
    for cut in ("", "[2:]", "[-3:]", "[-1:]")
]


class Answers:
    """Right and wrong answers to one task that no row makes.

    Args:
        name: the task's name.
        spelled: right ways to write a line of the annotated answer, by the line's name.
        survivors: more machine-made mutants that are accepted, and are right: each was looked at.
    """

    def __init__(
        self,
        name: str,
        *,
        spelled: dict[str, list[str]] | None = None,
        survivors: Sequence[Row] = (),
    ):
        self.name = name
        self.spelled = spelled or {}
        self.rows = [{line: text} for line, texts in self.spelled.items() for text in texts]
        self.survivors = [*self.rows, *survivors]
        self.rights: list[Callable] = []
        self.wrongs: list[Callable] = []

    def right(self, answer: Callable) -> Callable:
        """Decorate a right answer of another build."""
        self.rights.append(answer)
        return answer

    def wrong(self, answer: Callable, *more: Callable) -> Callable:
        """Add wrong answers that no row makes, or decorate one: each is rejected, whatever it is called."""
        self.wrongs += [answer, *more]
        return answer

    def combinations(self, number: int) -> Iterator[tuple[Row, Callable]]:
        """Yield right answers: each line spelled otherwise, then random lines together."""
        rows, variants = self.rows, self._variants_of_any_build()
        for i in range(len(rows)):
            yield rows[i], variants.variant(i)
        rng = random.Random(self.name)
        for _ in range(number if len(rows) > 1 else 0):
            chosen: list[int] = []
            for i in rng.sample(range(len(rows)), len(rows)):
                fits = all(variants.compose(i, other) for other in chosen)
                if fits and rng.random() < 0.7:
                    chosen.append(i)
            merged = {line: text for i in chosen for line, text in rows[i].items()}
            yield merged, variants.variant(*chosen)

    def _variants_of_any_build(self) -> Variants:
        task = find_task(self.name)
        builds = (task.reference, *task.others)
        fits = (b for b in builds if self.spelled.keys() <= lines_of(b).keys())
        return Variants(next(fits), self.rows)


def answers_to(name: str) -> Answers:
    """Return the answers to a task; for one that repairs an answer, those to the task that it answers."""
    return import_module(f"tests.checks.answers.{find_task(name).repairs or name}").answers


def named() -> list[str]:
    """Return the names of the tasks that have answers here."""
    return sorted(path.stem for path in Path(__file__).parent.glob("[!_]*.py"))
