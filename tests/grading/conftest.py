"""Tests of the judge need bubblewrap; without it they are skipped, and say so."""

import pytest

from attn_lib.grading.sandbox import NoSandbox, check_sandbox


@pytest.fixture(scope="session")
def sandbox_works() -> None:
    try:
        check_sandbox()
    except NoSandbox as error:
        pytest.skip(str(error))
