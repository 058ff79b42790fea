"""Results that are kept between runs."""

import hashlib
import json
import re
import sys
from dataclasses import dataclass
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path

import torch

from attn_lib.files import write_whole
from attn_lib.grading.grade import Report
from attn_lib.grading.visible_course import PACKAGE


@cache
def course_version() -> str:
    """Return a hash of the course's code and of torch's version: what a result depends on."""
    digest = hashlib.sha256(torch.__version__.encode())
    for path in sorted(PACKAGE.rglob("*.py")):
        digest.update(f"\0{path.relative_to(PACKAGE).as_posix()}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@dataclass(frozen=True)
class Kept:
    """A folder with the results of earlier runs, one file for each.

    A result is found again by the hash of the submission, the lesson, the seed, whether there was a
    sandbox, whether grading was strict, and the version of the course; so a change of any grades anew.
    """

    folder: Path
    seed: int
    unsafe: bool = False
    strict: bool = False

    def _path(self, sha256: str, lesson: int) -> Path:
        rules = self.seed, self.unsafe, self.strict, course_version()
        name = hashlib.sha256(json.dumps([sha256, lesson, *rules]).encode()).hexdigest()
        return self.folder / f"{name}.json"

    def load(self, sha256: str, lesson: int) -> Report | None:
        """Return a result, or None if there is none, a damaged one, or one that lacks a module which is there now."""
        try:
            plain = json.loads(self._path(sha256, lesson).read_bytes())
            lacked = plain.pop("lacked")
            report = Report.from_json(plain)
        except (OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError):
            return None
        if (report.lesson, report.seed) != (lesson, self.seed):
            return None
        return None if any(map(_is_installed, lacked)) else report

    def save(self, sha256: str, report: Report) -> None:
        """Keep a result.

        Raises:
            OSError: it could not be written.
        """
        # What an error calls missing and is there all the same, is no reason to grade it again.
        missed = _MISSED.findall(report.cells)
        lacked = [module for module in missed if not _is_installed(module)]
        plain = report.to_json() | {"lacked": lacked}
        write_whole(self._path(sha256, report.lesson), json.dumps(plain))


_MISSED = re.compile(r"ModuleNotFoundError: there is no module `(\w+)")


def _is_installed(module: str) -> bool:
    """Return whether a package is where the sandbox sees it, without importing anything."""
    prefixes = sys.prefix, sys.base_prefix
    seen = [path for path in sys.path if path.startswith(prefixes)]
    return PathFinder.find_spec(module, seen) is not None
