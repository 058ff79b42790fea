"""Seven megabytes of English about Python: paragraphs of the docstrings that this course's packages bring.

The text is read where it is installed, and nothing of it is copied into the course. Licenses: PSF (Python,
Matplotlib), BSD-3-Clause (NumPy, SciPy, scikit-learn, SymPy, NetworkX, PyTorch). It differs a little from
version to version and system to system, so no exact number about it holds everywhere.
"""

import re
import sysconfig
from importlib.util import find_spec
from pathlib import Path

from tqdm.auto import tqdm

PACKAGES = ("numpy", "scipy", "matplotlib", "sklearn", "sympy", "networkx", "torch")
HELD_OUT = 20  # one file in so many
QUOTED = re.compile(r'''"""(.*?)"""|\'{3}(.*?)\'{3}''', re.DOTALL)
OTHER = re.compile(r"[^A-Za-z ,.'`-]")  # signs that are rare in sentences
HEADING = re.compile(r"^.*\n\s*(-{3,}|={3,})\s*$", re.MULTILINE)


def documentation() -> tuple[list[str], list[str]]:
    """Return the documents to train on, and those of other files, one in 20, to test on.

    A document is what one docstring says in sentences, its paragraphs in lines. Each paragraph is there once.
    """
    seen = set[str]()
    split: tuple[list[str], list[str]] = [], []
    for number, path in enumerate(tqdm(_files(), "reading", unit="file", leave=False)):
        for quoted in QUOTED.findall(path.read_text("utf-8", errors="replace")):
            text = HEADING.sub("\n", "".join(quoted))
            paragraphs = (" ".join(p.split()) for p in re.split(r"\n\s*\n", text))
            new = [p for p in dict.fromkeys(paragraphs) if p not in seen and is_prose(p)]
            seen.update(new)
            if new:
                split[number % HELD_OUT == 0].append("\n".join(new))
    return split


def is_prose(paragraph: str) -> bool:
    """Say whether this is a sentence or more: not a signature, an example, a table or a formula."""
    return (
        len(paragraph) >= 60
        and paragraph.isascii()
        and paragraph[0].isupper()
        and paragraph[-1] in ".:"
        and len(OTHER.findall(paragraph)) < 0.05 * len(paragraph)
    )


def _files() -> list[Path]:
    """Return the modules of Python and of the packages, without their tests, in a fixed order."""
    roots = [Path(sysconfig.get_paths()["stdlib"])]
    for package in PACKAGES:
        spec = find_spec(package)
        if spec is not None and spec.origin is not None:
            roots.append(Path(spec.origin).parent)
    skipped = {"test", "tests", "site-packages", "dist-packages", "idlelib"}
    return [
        path
        for root in roots
        for path in sorted(root.rglob("*.py"))
        if not skipped & set(path.relative_to(root).parts)
    ]
