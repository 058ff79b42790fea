"""Imports in attn_lib follow from the folders, and importing it costs no more than torch."""

import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "attn_lib"

# What a folder may import beside itself and the library: the modules at the root, and models/.
MAY_IMPORT = {
    "data": (),
    "plotting": (),
    "explorer": ("plotting",),
    "checks": (),
    "tasks": ("checks.authoring", "checks.scoring"),
    "grading": ("checks", "tasks"),
    "programs": ("checks", "data"),
}
DOORS = {("checks", "tasks"), ("chat", "programs.chat")}  # modules that lead somewhere else


def graph() -> dict[str, set[str]]:
    """Return which modules of the package each of its modules imports, anywhere in its code."""
    paths = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        paths[".".join(part for part in parts if part != "__init__")] = path
    found = {name: set() for name in paths}
    for name, path in paths.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found[name] |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{name}: write imports in full"
                for alias in node.names:  # a module, or what stands in one
                    module = f"{node.module}.{alias.name}"
                    found[name].add(module if module in paths else node.module)
    return {name: others & paths.keys() - {name} for name, others in found.items()}


def is_allowed(module: str, imported: str) -> bool:
    module, imported = (name.removeprefix("attn_lib.") for name in (module, imported))
    here, there = (name.partition(".")[0] for name in (module, imported))
    if here == there or there not in MAY_IMPORT or (module, imported) in DOORS:
        return True
    return any(f"{imported}.".startswith(f"{name}.") for name in MAY_IMPORT.get(here, ()))


def test_a_folder_imports_what_it_may():
    edges = [(module, other) for module, others in graph().items() for other in others]
    assert len(edges) > 300
    assert [edge for edge in edges if not is_allowed(*edge)] == []


def test_an_import_in_the_wrong_direction_is_found():
    for module in ("masks", "tasks.lesson_01.attention"):
        assert not is_allowed(f"attn_lib.{module}", "attn_lib.checks.judge")


def test_no_module_imports_itself_in_a_circle():
    TopologicalSorter(graph()).prepare()


@pytest.mark.slow
def test_import_attn_lib_brings_nothing_heavy():
    heavy = ("matplotlib", "ipywidgets", "IPython", "tokenizers", "safetensors")
    code = (
        f"import sys, attn_lib; print(*[name for name in {heavy} if name in sys.modules])"
    )
    command = [sys.executable, "-c", code]
    imported = subprocess.run(
        command, cwd=PACKAGE.parent, capture_output=True, text=True, check=True
    )
    assert imported.stdout.split() == []
