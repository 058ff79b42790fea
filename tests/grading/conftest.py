"""Tests of the judge need bubblewrap; without it they are skipped, and say so."""

import pytest

from attn_lib.grading import batch
from attn_lib.grading.sandbox import NoSandbox, check_sandbox
from attn_lib.grading.workers import Done


@pytest.fixture(scope="session")
def sandbox_works() -> None:
    try:
        check_sandbox()
    except NoSandbox as error:
        pytest.skip(str(error))


@pytest.fixture
def in_this_process(monkeypatch):
    """Grade a class where the test runs: other processes take seconds to start."""

    def on_this_machine(jobs, read, grade, **options):
        return (Done(job, grade(read(job), job.lesson)) for job in jobs)

    monkeypatch.setattr(batch, "on_this_machine", on_this_machine)
