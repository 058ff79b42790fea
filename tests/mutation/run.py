"""Run tests on a copy of the course, in a fork of this process, which has imported what takes long."""

import contextlib
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType

import hypothesis
import pytest
import torch  # noqa: F401  what every test needs, imported once for all forks

from tests.mutation.calls import Calls, Watch

ROOT = Path(__file__).resolve().parents[2]
LEFT_OUT = (".git", ".venv", "_site", "__pycache__", ".*_cache", ".hypothesis")
CPU_SECONDS, WALL_SECONDS = 600, 1800  # for one run


class Copy:
    """A copy of the course, whose code may be changed."""

    def __init__(self, folder: Path):
        self.folder = folder / "course"
        self.log = folder / "log.txt"
        self._calls = folder / "calls.json"
        shutil.copytree(ROOT, self.folder, ignore=shutil.ignore_patterns(*LEFT_OUT))

    def passes(self, tests: list[str]) -> bool:
        """Say whether tests pass, up to the first that fails, or there are none."""
        well = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
        return not tests or self._run(tests) in well

    def watched(self, files: list[str]) -> Calls:
        """Run test files, all of which must pass; return which test calls which function.

        Raises:
            RuntimeError: they do not pass, or one cannot be run by its name.
        """
        done = self._run(files, Watch(self.folder)) == pytest.ExitCode.OK
        calls = json.loads(self._calls.read_text()) if done else {}
        names = sorted({name for tests in calls.values() for name in tests})
        if not done or self._run(["--collect-only", *names]) != pytest.ExitCode.OK:
            raise RuntimeError(f"Without any change:\n{self.log.read_text()[-3000:]}")
        return calls

    def _run(self, arguments: list[str], watch: Watch | None = None) -> int:
        """Run pytest in a fork; return its exit status, -1 if it had to be ended."""
        child = os.fork()
        if not child:
            try:
                status = self._pytest(arguments, [watch] if watch else [])
                if watch:
                    self._calls.write_text(json.dumps(watch.calls))
                os._exit(status)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(pytest.ExitCode.INTERNAL_ERROR)
        end = time.monotonic() + WALL_SECONDS
        ended, status = 0, 0
        while not ended and time.monotonic() < end:
            ended, status = os.waitpid(child, os.WNOHANG)
            time.sleep(0.05)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # what it has left behind, too
        if not ended:
            os.waitpid(child, 0)
            return -1
        return os.waitstatus_to_exitcode(status)

    def _pytest(self, arguments: list[str], plugins: list[Watch]) -> int:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        with open(self.log, "wb") as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
        os.chdir(self.folder)
        elsewhere = [path for path in sys.path if Path(path).resolve() != ROOT]
        sys.path[:] = [str(self.folder), *elsewhere]
        os.environ |= {"PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1"}
        # Two mutants in one second would share it; that of the course as it is saves seconds.
        sys.dont_write_bytecode = not plugins
        for name in [name for name in sys.modules if name.split(".")[0] == "tests"]:
            del sys.modules[name]
        # Processes that a test starts import the main module: not this program.
        sys.modules["__main__"] = ModuleType("__main__")
        phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)  # no shrinking
        hypothesis.settings.register_profile("mutants", phases=phases, database=None)
        hypothesis.settings.load_profile("mutants")
        options = ["-x", "-q", "-W", "ignore:Module already imported"]
        return pytest.main([*options, *arguments], plugins=plugins)


@contextlib.contextmanager
def copied() -> Iterator[Copy]:
    """Yield a copy of the course, in a temporary folder."""
    for plugin in entry_points(group="pytest11"):
        plugin.load()  # once for all forks, too
    with tempfile.TemporaryDirectory(prefix="mutants-", ignore_cleanup_errors=True) as made:
        yield Copy(Path(made).resolve())
