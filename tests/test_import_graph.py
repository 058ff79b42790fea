"""Imports in attn_lib flow one way, and importing it costs no more than torch."""

import ast
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# A module may import from its own layer and from those above it in this table.
LAYERS = (
    (
        "masks",
        "shapes",
        "attention",
        "efficient",
        "positions",
        "kv_cache",
        "decoding",
        "patterns",
        "memory_meter",
    ),
    (
        "single_head",
        "multi_head",
        "cross_attention",
        "grouped_query",
        "head_control",
    ),
    ("blocks",),
    ("models", "minilm", "llama", "smollm2", "generation", "own_attention"),
    ("training", "checkpoint", "quantization"),
    # What looks at the library from outside: nothing above imports it, nor does `import attn_lib`.
    (
        "data",
        "plotting",
        "explorer",
        "checks",
        "tasks",
        "grading",
        "programs",
        "chat",
    ),
)
LAYER = {name: number for number, layer in enumerate(LAYERS) for name in layer}
OUTSIDE = LAYERS[-1]


def module_name(path: Path, package: Path) -> str:
    parts = [package.name, *path.relative_to(package).with_suffix("").parts]
    return ".".join(part for part in parts if part != "__init__")


def imports(package: Path) -> dict[str, set[str]]:
    """Return which modules of the package each of its modules imports, anywhere in its code."""
    paths = {module_name(path, package): path for path in sorted(package.rglob("*.py"))}
    graph = {}
    for name, path in paths.items():
        found = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{name}: write imports in full"
                # `from package import x`: x may be a module, else it stands in the package
                candidates = {f"{node.module}.{alias.name}" for alias in node.names}
                modules = candidates & paths.keys()
                found |= modules | ({node.module} if candidates - modules else set())
        graph[name] = found & paths.keys() - {name}
    return graph


def part(module: str) -> str:
    """Return the part of the library that a module belongs to: "checks" of attn_lib.checks.judge."""
    return [*module.split("."), ""][1]


def wrong_ways(graph: dict[str, set[str]]) -> list[str]:
    """Return the imports that go against the table."""
    problems = []
    for module, imported in graph.items():
        here = part(module)
        if here and here not in LAYER:
            problems.append(f"{module} has no layer: enter it in the table of this test")
            continue
        for other in imported:
            there = part(other)
            if not here and there in OUTSIDE:
                problems.append(f"`import attn_lib` imports {there}")
            if (
                here
                and here not in OUTSIDE
                and (not there or LAYER.get(there, 0) > LAYER[here])
            ):
                problems.append(f"{module} imports {other}")
    return problems


GRAPH = imports(ROOT / "attn_lib")


def test_imports_flow_one_way():
    assert wrong_ways(GRAPH) == []


def test_no_module_imports_itself_in_a_circle():
    TopologicalSorter(GRAPH).prepare()


def test_import_attn_lib_brings_nothing_heavy():
    heavy = ("matplotlib", "ipywidgets", "IPython", "tokenizers", "safetensors")
    code = (
        f"import sys, attn_lib; print(*[name for name in {heavy} if name in sys.modules])"
    )
    command = [sys.executable, "-c", code]
    imported = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert imported.stdout.split() == []


# ---------------------------------------------------------------- the rules find what breaks


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("attention", "from attn_lib.multi_head import MultiHeadAttention"),
        ("attention", "def f():\n    import attn_lib.checks"),
        ("masks", "from attn_lib import plotting"),
        ("masks", "from attn_lib import causal_mask"),
        ("__init__", "from attn_lib.checks import check"),
        ("unheard_of", "import torch"),
    ],
)
def test_an_import_in_the_wrong_direction_is_found(tmp_path, module, source):
    package = tmp_path / "attn_lib"
    package.mkdir()
    for name in ("__init__", "masks", "attention", "multi_head", "checks", "plotting"):
        (package / f"{name}.py").write_text("import torch\n")
    assert wrong_ways(imports(package)) == []
    (package / f"{module}.py").write_text(source)
    assert len(wrong_ways(imports(package))) == 1


def test_a_circle_is_found(tmp_path):
    package = tmp_path / "attn_lib"
    package.mkdir()
    (package / "masks.py").write_text("from attn_lib.attention import einsum_attention")
    (package / "attention.py").write_text("def f():\n    from attn_lib import masks")
    with pytest.raises(CycleError):
        TopologicalSorter(imports(package)).prepare()
