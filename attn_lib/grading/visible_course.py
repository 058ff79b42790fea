"""The part of the course that a learner's code may use while lesson N is graded.

It is a copy without the answers of this and of later lessons: what is not there cannot be called. Rules
decide what is in it, not tables:

- a module of the library, if neither it nor what it imports answers a task of this or of a later lesson;
- data and figures; no program; without the functions that do nearly what a task of this lesson asks for (its `also`);
- of the checks, what `authoring` imports, and what observes an answer;
- of the tasks, those of earlier lessons, apart from what is to be repaired in this one; of this lesson only
  `runs.py`, which calls an answer.
"""

import ast
import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from attn_lib.checks import tasks

PACKAGE = Path(__file__).resolve().parents[1]
CONFINED = (
    "__init__",
    "confine",
    "definitions",
    "fork_server",
    "wire",
    "worker",
)  # of the grader
OBSERVERS = (
    "attn_lib.checks.afresh",
    "attn_lib.checks.again",
    "attn_lib.checks.authoring",
    "attn_lib.checks.experiments",
    "attn_lib.checks.observe",
)


@cache
def imported(module: str) -> frozenset[str]:
    """Return the modules of the course that a module imports, directly or through others, with itself."""
    found, new = set(), {module}
    while new:
        found |= new
        new = {name for m in new for name in _imports(m)} - found
    return frozenset(found)


@cache
def taught(module: str) -> int:
    """Return the last lesson with a task that a module of the library, or one it imports, answers.

    A module answers a task if it defines what stands in for an answer, or something of its name.
    """
    names, parts = set(), set()
    for name in imported(module):
        path = _path(name)
        assert path is not None, name
        names |= {getattr(node, "name", "") for node in ast.parse(path.read_bytes()).body}
        parts.add(_part(name))
    lessons = [
        task.lesson
        for task in tasks()
        if task.name in names or _part(task.library.__module__) in parts
        if not task.repairs
    ]
    return max(lessons, default=0)


def library() -> list[str]:
    """Return the names of the library's modules and packages: those that import no other part."""
    files = {path.stem for path in PACKAGE.glob("[!_]*.py")} | {"models"}
    inside = {f"attn_lib.{name}" for name in files}
    return sorted(
        name
        for name in files
        if {_part(module) for module in imported(f"attn_lib.{name}")} <= inside
    )


def visible(lesson: int) -> list[str]:
    """Return the names of the library's modules that may be there while a lesson is graded."""
    return [name for name in library() if taught(f"attn_lib.{name}") < lesson]


def _part(module: str) -> str:
    """Return the module or package directly under the course's own: "attn_lib.models"."""
    return ".".join(module.split(".")[:2])


@cache
def _imports(module: str) -> frozenset[str]:
    """Return the modules of the course that stand in a module's own import statements."""
    path = _path(module)
    assert path is not None, module
    found = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name for name in names if _path(name)} or {node.module}
    return frozenset(name for name in found if name.startswith("attn_lib.") and _path(name))


def _path(module: str) -> Path | None:
    """Return the file of a module of the course, or None if there is none."""
    path = PACKAGE.joinpath(*module.split(".")[1:])
    candidates = path.with_suffix(".py"), path / "__init__.py"
    return next((file for file in candidates if file.is_file()), None)


@cache
def course_for(lesson: int) -> Path:
    """Return a folder to be `PYTHONPATH` inside the sandbox; made once in a process, then kept."""
    folder = Path(tempfile.mkdtemp(prefix=f"attn-course-{lesson:02}-"))
    folder.chmod(0o755)  # without a sandbox, submissions may run as another user
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    inside = folder / "attn_lib"
    shown = [
        *visible(lesson),
        *("plotting", "data"),
        *(f"checks/{name}" for name in engine()),
        *(f"grading/{name}" for name in CONFINED),
        *(f"tasks/lesson_{earlier:02}" for earlier in range(lesson)),
        f"tasks/lesson_{lesson:02}/runs",
    ]
    repaired = [f"{task.repairs}.py" for task in tasks() if task.lesson == lesson]
    left_out = shutil.ignore_patterns("__pycache__", *repaired)
    for name in shown:
        source, copy = PACKAGE / name, inside / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, copy, ignore=left_out)
        elif source.with_suffix(".py").exists():  # not every lesson has a runs.py
            shutil.copy(source.with_suffix(".py"), copy.parent)
    also = {name for task in tasks() if task.lesson == lesson for name in task.also}
    for path in inside.rglob("*.py") if also else ():
        path.write_text(without(path.read_text(encoding="utf-8"), also), encoding="utf-8")
    (inside / "__init__.py").write_bytes(exports(visible(lesson)).encode())
    shutil.copy(PACKAGE / "grading" / "inside_checks.py", inside / "checks" / "__init__.py")
    for package in (inside / "tasks", *inside.glob("tasks/lesson_*")):
        (package / "__init__.py").write_bytes(b"")
    return folder


def without(source: str, names: set[str]) -> str:
    """Return the source of a module in which functions, and methods such as "Model.write", do nothing but raise an error."""
    lines = source.splitlines(keepends=True)
    there = [(node, "", 4) for node in ast.parse(source).body]
    for node, _, _ in [*there]:
        if isinstance(node, ast.ClassDef):
            there += [(inner, f"{node.name}.", 8) for inner in node.body]
    for node, of, indent in sorted(there, key=lambda one: -one[0].lineno):
        if isinstance(node, ast.FunctionDef) and of + node.name in names:
            said = f'raise RuntimeError("{node.name} does nearly what a task asks for.")\n'
            lines[node.body[0].lineno - 1 : node.end_lineno] = [" " * indent + said]
    return "".join(lines)


def engine() -> list[str]:
    """Return the names of the checks' modules that are inside: what tasks import, and what observes."""
    found = frozenset().union(*map(imported, OBSERVERS))
    prefix = "attn_lib.checks."
    return sorted(name.removeprefix(prefix) for name in found if name.startswith(prefix))


def exports(modules: list[str]) -> str:
    """Return the library's `__init__.py` with the imports of these modules only."""
    tree = ast.parse((PACKAGE / "__init__.py").read_bytes())
    kept = [
        statement
        for statement in tree.body
        if isinstance(statement, ast.ImportFrom)
        and (statement.module or "").removeprefix("attn_lib.") in modules
    ]
    return "\n".join(ast.unparse(statement) for statement in kept) + "\n"
