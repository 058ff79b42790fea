"""Docstrings of Python's own modules, sorted by topic.

The docstrings are read from the standard library of the Python that runs (PSF license); nothing is
imported, and nothing is copied into this course. They differ a little from version to version, so no
exact number about them holds everywhere.
"""

import ast
import re
import sysconfig
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor

# Modules and packages that are there in every Python from 3.11 to 3.13.
TOPICS = {
    "internet": "ftplib http imaplib ipaddress poplib smtplib socket socketserver ssl urllib webbrowser wsgiref xmlrpc",
    "files": "_pyio bz2 filecmp fileinput glob gzip ntpath os pathlib posixpath shutil stat tarfile tempfile zipfile",
    "numbers": "_pydecimal fractions numbers random statistics",
    "running": "asyncio concurrent multiprocessing queue sched selectors subprocess threading",
    "text": "codecs configparser csv difflib gettext html json locale re shlex string textwrap",
    "mail": "email mailbox",
    "code": "ast bdb cmd code compileall dis importlib inspect pdb pkgutil pydoc symtable tokenize trace traceback",
    "testing": "doctest unittest",
}


class Docstring(NamedTuple):
    """A text in lower case, its topic, and the module that it is from."""

    words: list[str]
    topic: str
    module: str


def docstrings(*, shortest: int = 5, longest: int = 60) -> list[Docstring]:
    """Return the docstrings of functions and classes, each text once, in the order of `TOPICS`.

    Args:
        shortest: leave out texts with fewer words.
        longest: cut off the words beyond.
    """
    library = Path(sysconfig.get_paths()["stdlib"])
    seen: dict[tuple[str, ...], Docstring] = {}
    for topic, modules in TOPICS.items():
        for module in modules.split():
            for text in _texts(library, module):
                words = re.findall(r"[a-z]+", text.lower())[:longest]
                if len(words) >= shortest:
                    seen.setdefault(tuple(words), Docstring(words, topic, module))
    return list(seen.values())


def _texts(library: Path, module: str) -> Iterator[str]:
    """Yield every docstring of a module, or of all modules of a package."""
    single = library / f"{module}.py"
    paths = [single] if single.exists() else sorted((library / module).rglob("*.py"))
    for path in paths:
        below = path.relative_to(library).parts
        if "test" in below or "tests" in below or "__pycache__" in below:
            continue
        open_nodes: list[ast.AST] = [ast.parse(path.read_bytes())]
        while open_nodes:
            node = open_nodes.pop()
            for child in getattr(node, "body", ()):
                if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    open_nodes.append(child)
                    yield ast.get_docstring(child) or ""


class Words:
    """A number for each frequent word; 0 is the pad, 1 stands for every other word.

    Args:
        texts: lists of words to count.
        size: how many numbers in all.
    """

    pad, unknown = 0, 1

    def __init__(self, texts: Iterable[Sequence[str]], size: int):
        counts = Counter(word for text in texts for word in text)
        # Equally frequent words in alphabetical order: the same numbers on every run.
        order = sorted(counts, key=lambda word: (-counts[word], word))
        self.words = ["<pad>", "<unk>", *order[: size - 2]]
        self._ids = {word: i for i, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def encode(
        self, texts: Sequence[Sequence[str]], *, length: int | None = None
    ) -> tuple[Int[Tensor, "b l"], Bool[Tensor, "b l"]]:
        """Return ids (B, L), filled up with pads, and a mask (B, L): True for words.

        Args:
            texts: lists of words.
            length: L; as long as the longest text if None.

        Raises:
            ValueError: a text is longer than `length`.
        """
        longest = max((len(text) for text in texts), default=0)
        length = longest if length is None else length
        if longest > length:
            raise ValueError(f"expected texts of at most {length} words, got {longest}")
        ids = torch.full((len(texts), length), self.pad)
        for row, text in zip(ids, texts, strict=True):
            row[: len(text)] = torch.tensor(
                [self._ids.get(word, self.unknown) for word in text], dtype=torch.long
            )
        real = torch.arange(length) < torch.tensor([len(text) for text in texts])[:, None]
        return ids, real
