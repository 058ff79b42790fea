"""One page for the teacher: what the class did not understand."""

import html
import json
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from attn_lib.checks import tasks
from attn_lib.checks.verdict import inline
from attn_lib.grading.alike import NO_PROOF
from attn_lib.grading.find import PROGRESS, below, read
from attn_lib.grading.grade import CARRIED, NOT_GRADED, Report, worth_points
from attn_lib.grading.names import owner_of_file
from attn_lib.grading.overrides import BY_HAND
from attn_lib.grading.reports import STATUSES, code, html_table, page, problems
from attn_lib.grading.row import Row

MOST = 10
# Background and text of each status: they differ in lightness too, for gray and any color vision.
COLORS = {
    "passed": "#1b6ca8;color:#fff",
    CARRIED: "#7fb8de;color:#000",
    "wrong": "#e69f00;color:#000",
    "error": "#b3470f;color:#fff",
    "not attempted": "#d0d0d0;color:#000",
    NOT_GRADED: "#888888;color:#fff",
    BY_HAND: "#4d3b8f;color:#fff",
}
_LARGEST = 1_000_000  # bytes of a progress file
_LOOKED_AT = 3  # such files of one learner
_BELIEVED = 1000  # attempts


def class_page(
    rows: list[Row], tried: dict[str, float], same: list[tuple[int, list[str]]]
) -> str:
    """Return the page.

    Args:
        rows: what everybody gets.
        tried: the middle number of attempts, by task.
        same: the learners with the same code, by lesson.
    """
    lessons = sorted({row.lesson for row in rows if row.lesson is not None})
    parts = [_lesson(lesson, [r for r in rows if r.lesson == lesson]) for lesson in lessons]
    parts.append(_attempts(tried))
    copies = (
        f"Lesson {lesson:02}: {', '.join(f'<bdi>{html.escape(n)}</bdi>' for n in names)}"
        for lesson, names in same
    )
    parts.append(_list("The same code", copies, f"<p>{html.escape(NO_PROOF)}</p>\n"))
    parts.append(_list("To look at", map(html.escape, problems(rows))))
    title = "What the class did not understand"
    return page(title, f"<h1>{title}</h1>\n{''.join(parts)}")


def _lesson(lesson: int, rows: list[Row]) -> str:
    """Describe one lesson: bars, and the mistakes with their questions."""
    handed_in = [row for row in rows if row.files]
    head = f"<h2>Lesson {lesson:02}</h2>\n<p>{len(handed_in)} of {len(rows)} learners handed it in."
    reports = [row.report for row in handed_in if row.report]
    if not reports:
        return f"{head}</p>\n"
    points, most = [row.points for row in handed_in], reports[0].max_points
    mean = sum(points) / len(points)
    head += f" They have {mean:.1f} of {most:g} points on average.</p>\n"
    return head + _bars(lesson, reports) + _histogram(points, most) + _mistakes(rows)


def _bars(lesson: int, reports: list[Report]) -> str:
    """Return a bar for each task, cut into those who passed, failed, and so on, and a legend."""
    lines, seen = [], set[str]()
    for number, task in enumerate(worth_points(lesson)):
        results = [report.tasks[number] for report in reports]
        counted = Counter(result.status for result in results)
        counts = {status: counted[status] for status in STATUSES if counted[status]}
        seen |= counts.keys()
        parts = "".join(
            f'<span style="flex:{count};background:{COLORS[status]}">{count}</span>'
            for status, count in counts.items()
        )
        said = ", ".join(f"{count} {status}" for status, count in counts.items())
        bar = f'<div class="bar" role="img" aria-label="{task.name}: {said}">{parts}</div>'
        mean = statistics.mean(result.points for result in results)
        lines.append((code(task.name), bar, f"{mean:.1f} of {task.points:g} points"))
    legend = " ".join(
        f'<span style="background:{COLORS[status]}">{status}</span>'
        for status in STATUSES
        if status in seen
    )
    return f'<p class="bar">{legend}</p>\n{html_table(lines, kind="wide")}'


def _histogram(points: list[float], most: float) -> str:
    """Return columns for how many learners have how many points, rounded to whole ones."""
    many = Counter(int(p + 0.5) for p in points)
    tallest = max(many.values())
    columns = "".join(
        f'<span>{many[value] or ""}<i style="height:{80 * many[value] / tallest:.0f}px"></i>'
        f"{value}</span>"
        for value in range(int(most + 0.5) + 1)
    )
    said = ", ".join(f"{many[value]} with {value}" for value in sorted(many))
    return (
        f'<div class="columns" role="img" aria-label="Learners by points: {said}">{columns}</div>\n'
        "<p>Learners by points</p>\n"
    )


def _mistakes(rows: list[Row]) -> str:
    """List the most frequent mistakes, each with the question that leads out of it."""
    made = Counter[tuple[str, str]]()
    questions = dict[tuple[str, str], str]()  # it may name what stands in one answer
    for row in rows:
        for task in row.report.tasks if row.report else ():
            if task.mistake:
                made[task.name, task.mistake] += 1
                questions.setdefault((task.name, task.mistake), task.question)

    def listed(keys: list[tuple[str, str]]) -> str:
        lines = [
            (
                str(made[key]),
                code(key[0]),
                f"{inline(questions[key])}<br><small>{html.escape(key[1])}</small>",
            )
            for key in keys
        ]
        head = "learners", "task", "a question that leads out of it"
        return html_table(lines, head=head, kind="mistakes")

    parts = []
    if shared := [key for key, count in made.most_common(MOST) if count > 1]:
        parts.append(f"<h3>The most frequent mistakes</h3>\n{listed(shared)}")
    if single := [key for key, count in made.items() if count == 1]:
        head = f"Mistakes that one learner each made: {len(single)}"
        parts.append(f"<details><summary>{head}</summary>\n{listed(single)}</details>\n")
    return "".join(parts)


def attempts(folder: Path, rows: list[Row]) -> dict[str, float]:
    """Return the middle number of attempts at each task, of those who tried it.

    Args:
        folder: of the submissions, with progress files anywhere; what is none is passed over.
        rows: of those whose files count, one of each.
    """
    found: dict[str, list[int]] = defaultdict(list)
    lessons = {row.lesson for row in rows}
    asked = {task.name for task in tasks() if task.lesson in lessons}
    theirs = {_owner(file.path) for row in rows for file in row.files}
    left = dict.fromkeys(theirs, _LOOKED_AT)
    tops = [top for top in sorted(folder.iterdir()) if not top.is_symlink()]
    for path in (path for top in tops for path in below(top)[0]):
        owner = _owner(path.relative_to(folder))
        if not path.match(PROGRESS) or not left.get(owner):
            continue
        tries = _tries(path)
        left[owner] = 0 if tries else left[owner] - 1
        for name in (name for name in tries if name in asked):
            found[name].append(tries[name])
    return {name: statistics.median(numbers) for name, numbers in found.items()}


def _owner(place: Path) -> str:
    """Return whose a file is, by its path in the folder of the class, as learners call themselves."""
    top, *inside = place.parts
    return top if inside else owner_of_file(place).name


@cache
def _known() -> set[str]:
    return {task.name for task in tasks()}


def _tries(path: Path) -> dict[str, int]:
    """Return the attempts in one file, in which a stranger may have written anything."""
    try:
        data = read(path)
        entries = json.loads(data)["tasks"].items() if len(data) < _LARGEST else ()
        return {
            name: entry["attempts"]
            for name, entry in entries
            if name in _known()
            and type(entry["attempts"]) is int
            and 0 < entry["attempts"] <= _BELIEVED
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def _attempts(tried: dict[str, float]) -> str:
    """List the tasks that took most attempts."""
    several = [name for name in tried if tried[name] > 1]
    tasks = sorted(several, key=lambda name: (-tried[name], name))
    if not tasks:
        return ""
    about = "Half of those who tried, as their progress says, needed at least so many."
    lines = [(code(task), f"{tried[task]:g}") for task in tasks[:MOST]]
    return f"<h2>What took the most attempts</h2>\n<p>{about}</p>\n{html_table(lines)}"


def _list(title: str, entries: Iterable[str], about: str = "") -> str:
    """Return a list of HTML under its title; nothing, if it is empty."""
    lines = "".join(f"<li>{entry}</li>\n" for entry in entries)
    return f"<h2>{title}</h2>\n{about}<ul>\n{lines}</ul>\n" if lines else ""
