"""A class of learners of every kind, and what each must get: python -m tests.grading.simulated_class.

It grades them in one run of the instructor's command and compares every result. The class is the same
whenever it is made.
"""

import ast
import contextlib
import csv
import json
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from attn_lib.checks import Task, tasks
from attn_lib.checks.mistakes import known
from attn_lib.grading.grade import worth_points
from tests.grading.attacks import HONEST, HOSTILE
from tests.grading.judging import ROOT, answered, class_of, notebook
from tests.grading.test_submission import BROKEN

NAMES = "ada", "Grace Hopper", "李明", "Łukasz Żak", "محمد", "Zoë-Anne O'Neil", "=1+1"
LESSONS = sorted({task.lesson for task in tasks() if task.points})
SECRET = "what the gradebook holds"


@dataclass
class Learner:
    """One submission and what it must get.

    Attributes:
        kind: of the submission, to count.
        files: their names, and what is in them.
        lesson: None where it cannot be told.
        least: points at least, and at `most`.
        mistakes: the ids that must be named, by task.
        has_problem: whether the instructor must be told why nothing was graded.
        name: the learner's; given by `make`.
    """

    kind: str
    files: dict[str, bytes]
    lesson: int | None
    least: float
    most: float
    mistakes: dict[str, str] = field(default_factory=dict)
    has_problem: bool = False
    name: str = ""


def most_of(lesson: int) -> float:
    """Return what a lesson is worth."""
    return sum(task.points for task in worth_points(lesson))


APART = """\
    try:
        exec(cell, right)
    except Exception:  # some cells need weights that are not in the sandbox
        pass
globals().update(right)"""


def spoiled(lesson: int, wrong: dict[str, str]) -> bytes:
    """Return a solution with other code for some tasks, which the answers to the others do not use."""
    apart = f"right = {{}}\nfor cell in {answered(lesson)!r}:\n" + APART
    return notebook(apart, *wrong.values())


DISGUISES = (
    lambda cells: notebook(*cells),
    lambda cells: notebook("%matplotlib inline\n!pip install nothing", *cells, "progress?"),
    lambda cells: notebook(*cells, "1 / 0", "def broken(:", "import no_such_module"),
    lambda cells: notebook("\n\n".join(cells)),  # all in one cell
    lambda cells: notebook(*cells).decode().encode("utf-16"),
)


def right(rng: random.Random) -> Iterator[Learner]:
    """Yield right answers to every lesson, in notebooks as people make them."""
    while True:
        for disguise in DISGUISES:
            lesson = rng.choice(LESSONS)
            files = {"My Notebook (1).ipynb": disguise(answered(lesson))}
            yield Learner("right", files, lesson, most_of(lesson), most_of(lesson))


def partly(rng: random.Random) -> Iterator[Learner]:
    """Yield solutions with some tasks not begun, without a result, or raising an error."""
    while True:
        lesson = rng.choice(LESSONS)
        codes = "", "", "...", "lambda *a: None", "lambda *a, **k: 1 / 0"
        chosen = [(task, rng.choice(codes)) for task in worth_points(lesson)]
        wrong = {task.name: f"{task.name} = {code}" for task, code in chosen if code}
        points = sum(task.points for task, code in chosen if not code)
        files = {f"{lesson:02}_exercise.ipynb": spoiled(lesson, wrong)}
        yield Learner("partly right", files, lesson, points, points)


HEAD = "import math, torch\nimport torch.nn.functional as F\nfrom torch import Tensor, nn"


def mistakes(rng: random.Random) -> Iterator[tuple[Task, str, str]]:
    """Yield tasks, each with the id of a mistake and code that makes it."""
    rows = [
        (task, number, mistake.id)
        for task in tasks()
        for number, mistake in enumerate(known(task.name).mistakes if task.points else ())
        if mistake.lines
    ]
    rng.shuffle(rows)
    while True:
        for task, number, mistake in rows:
            code, _ = known(task.name).sources(number)
            if "attn_lib" in code:
                continue  # what the library has to this lesson's tasks is not there
            own = ast.parse(code).body[-1].name
            if own != task.name:  # the row of an answer that is spelled otherwise
                code += f"\n{task.name} = {own}"
            yield task, mistake, f"{HEAD}\n{code}"


def mistaken(rng: random.Random) -> Iterator[Learner]:
    """Yield solutions with one known mistake: it costs its task, and is named."""
    for task, mistake, code in mistakes(rng):
        least = most_of(task.lesson) - task.points
        most = most_of(task.lesson) - 1 if task.score else least
        named = {task.name: mistake}
        files = {"x.ipynb": spoiled(task.lesson, {task.name: code})}
        yield Learner("known mistake", files, task.lesson, least, most, named)


def untouched(rng: random.Random) -> Iterator[Learner]:
    """Yield exercises as they were handed out."""
    while True:
        lesson = rng.choice(LESSONS)
        [path] = ROOT.glob(f"exercises/{lesson:02}_*/*.ipynb")
        yield Learner("untouched", {path.name: path.read_bytes()}, lesson, 0, 0)


def strange(rng: random.Random) -> Iterator[Learner]:
    """Yield files that are no notebooks, and two notebooks for one exercise."""
    full = most_of(1)
    good = notebook(*answered(1))
    half = notebook(*(c for c in answered(1) if "class SelfAttention" not in c))
    broken = [data for data, _ in BROKEN.values() if len(data) < 100_000]
    broken += [good[: len(good) // 2], rng.randbytes(5000)]
    two = {"a.ipynb": half, "b.ipynb": good, "c/exercise_01.ipynb": b""}
    while True:
        for data in broken:
            yield Learner(
                "unreadable", {"exercise_01.ipynb": data}, 1, 0, 0, has_problem=True
            )
        yield Learner("two notebooks", two.copy(), 1, full, full)
        yield Learner("no notebook", {"essay.pdf": b"%PDF"}, None, 0, 0, has_problem=True)


def hostile(rng: random.Random, port: int) -> Iterator[Learner]:
    """Yield hostile notebooks, each with one honest answer, worth a point."""
    while True:
        for name, attack in HOSTILE.items():
            honest = [attack.cell.replace("PORT", str(port)), HONEST]
            least = 1 if attack.keeps else 0
            yield Learner(f"hostile: {name}", {"01.ipynb": notebook(*honest)}, 1, least, 1)


def make(count: int, port: int = 9) -> list[Learner]:
    """Return a class: a quarter hostile, a quarter right, the others in between; in any order."""
    rng = random.Random(f"a class of {count}")
    shares = {
        hostile(rng, port): 0.25,
        right(rng): 0.25,
        partly(rng): 0.2,
        mistaken(rng): 0.15,
        strange(rng): 0.1,
        untouched(rng): 0.05,
    }
    learners = [
        x for kind, share in shares.items() for x in islice(kind, round(share * count))
    ]
    rng.shuffle(learners)
    for number, learner in enumerate(learners):
        learner.name = f"{NAMES[number % len(NAMES)]} {number:03}"
        own = f'"of": {number}, "nbformat":'.encode()  # or equal ones would be graded once
        for name, data in learner.files.items():
            learner.files[name] = data.replace(b'"nbformat":', own)
    return learners


def wrong_results(learners: list[Learner], out: Path) -> list[str]:
    """Compare what the run wrote with what each must get; return a line for each difference."""
    grades = json.loads((out / "grades.json").read_text(encoding="utf-8"))["grades"]
    found = {row["learner"]: row for row in grades}
    with (out / "grades.csv").open(encoding="utf-8", newline="") as file:
        totals = {row["learner"].lstrip("'"): row["total"] for row in csv.DictReader(file)}
    said = []
    for learner in learners:
        row = found.pop(learner.name, None)
        if not row:
            said.append(f"{learner.name} ({learner.kind}): there is no line")
            continue
        named = {task["name"]: task["mistake"] for task in row["tasks"]}
        as_due = {
            "lesson": row["lesson"] == learner.lesson,
            "points": learner.least <= row["points"] <= learner.most,
            "grades.csv": float(totals.get(learner.name, "nan")) == row["points"],
            "problem": bool(row["problem"]) == learner.has_problem,
            "mistakes": named.items() >= learner.mistakes.items(),
            "page": (out / row["feedback"]).is_file(),
        }
        said += [
            f"{learner.name} ({learner.kind}): {what} is wrong: {row['points']} points, {named}"
            for what, right in as_due.items()
            if not right
        ]
    return said + [f"{name}: nobody of this name" for name in found]


def main(learners: int = 200) -> int:
    """Grade a class; return whether a result was wrong, as an exit status."""
    with (
        tempfile.TemporaryDirectory() as name,
        socket.create_server(("127.0.0.1", 0)) as server,
    ):
        folder = Path(name).resolve()
        server.setblocking(False)
        made = make(learners, server.getsockname()[1])
        for learner in made:
            class_of(folder / "submitted" / learner.name, learner.files)
        (folder / "gradebook.db").write_text(SECRET)
        command = [sys.executable, "-m", "attn_lib.grading", "grade", folder / "submitted"]
        command += ["--out", folder / "out", "--seed", "271828"]
        start = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        seconds = time.perf_counter() - start
        said = wrong_results(made, folder / "out")
        if (folder / "gradebook.db").read_text() != SECRET:
            said.append("the gradebook was changed")
        with contextlib.suppress(BlockingIOError):
            server.accept()
            said.append("somebody reached the network")
    for kind, number in sorted(Counter(x.kind.partition(":")[0] for x in made).items()):
        print(f"{number:5} {kind}")
    print(
        f"{learners:5} graded in one run in {seconds:.0f} s; {len(said)} results are not right"
    )
    print("\n".join(said))
    return min(len(said), 1)


if __name__ == "__main__":
    sys.exit(main())
