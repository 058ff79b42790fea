"""One page for the teacher: what the class did not understand."""

import html
from collections import Counter

from attn_lib.checks.verdict import inline
from attn_lib.grading.alike import NO_PROOF
from attn_lib.grading.bars import bars, histogram, legend
from attn_lib.grading.grade import worth_points
from attn_lib.grading.reports import STATUSES, breakable, page, problems
from attn_lib.grading.row import Row

MOST = 10


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
    parts += [_attempts(tried), _alike(same), _problems(rows)]
    title = "What the class did not understand"
    return page(title, f"<h1>{title}</h1>\n{''.join(parts)}")


def _lesson(lesson: int, rows: list[Row]) -> str:
    """Describe one lesson: pictures, and the mistakes with their questions."""
    handed_in = [row for row in rows if row.files]
    head = f"<h2>Lesson {lesson:02}</h2>\n<p>{len(handed_in)} of {len(rows)} learners handed it in."
    reports = [row.report for row in handed_in if row.report]
    if not reports:
        return head + "</p>\n"
    counts, names = {}, {}
    for number, task in enumerate(worth_points(lesson)):
        results = [report.tasks[number] for report in reports]
        counts[task.name] = [
            sum(r.status == status for r in results) for status in STATUSES
        ]
        mean = sum(r.points for r in results) / len(results)
        names[task.name] = f"{mean:.1f} of {task.points:g} points"
    points = [row.points for row in handed_in]
    most = reports[0].max_points
    head += (
        f" They have {sum(points) / len(points):.1f} of {most:g} points on average.</p>\n"
    )
    return (
        head
        + legend(counts, STATUSES)
        + bars(counts, names, STATUSES)
        + histogram(points, most)
        + _mistakes(rows)
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
    shared = [key for key, count in made.most_common(MOST) if count > 1]
    single = [key for key, count in made.items() if count == 1]

    def listed(keys: list[tuple[str, str]]) -> str:
        lines = "".join(
            f"<tr><td>{made[task, mistake]}</td><td><code>{breakable(task)}</code></td>"
            f"<td>{inline(questions[task, mistake])}<br><small>{html.escape(mistake)}</small></td></tr>\n"
            for task, mistake in keys
        )
        return f'<table class="mistakes"><thead><tr>{_HEAD}</tr></thead><tbody>\n{lines}</tbody></table>\n'

    parts = []
    if shared:
        parts.append(f"<h3>The most frequent mistakes</h3>\n{listed(shared)}")
    if single:
        head = f"Mistakes that one learner each made: {len(single)}"
        parts.append(f"<details><summary>{head}</summary>\n{listed(single)}</details>\n")
    return "".join(parts)


_HEAD = '<th scope="col">learners</th><th scope="col">task</th><th scope="col">a question that leads out of it</th>'


def _attempts(tried: dict[str, float]) -> str:
    """List the tasks that took most attempts."""
    tasks = [
        t for t in sorted(tried, key=lambda name: (-tried[name], name)) if tried[t] > 1
    ]
    if not tasks:
        return ""
    lines = "".join(
        f"<tr><td><code>{breakable(task)}</code></td><td>{tried[task]:g}</td></tr>\n"
        for task in tasks[:MOST]
    )
    return (
        "<h2>What took the most attempts</h2>\n<p>Half of those who tried, as their progress says, needed at "
        f"least so many.</p>\n<table><tbody>\n{lines}</tbody></table>\n"
    )


def _alike(same: list[tuple[int, list[str]]]) -> str:
    if not same:
        return ""
    lines = "".join(
        f"<li>Lesson {lesson:02}: {', '.join(f'<bdi>{html.escape(n)}</bdi>' for n in names)}</li>\n"
        for lesson, names in same
    )
    return f"<h2>The same code</h2>\n<p>{html.escape(NO_PROOF)}</p>\n<ul>\n{lines}</ul>\n"


def _problems(rows: list[Row]) -> str:
    lines = "".join(f"<li>{html.escape(line)}</li>\n" for line in problems(rows))
    return f"<h2>To look at</h2>\n<ul>\n{lines}</ul>\n" if lines else ""
