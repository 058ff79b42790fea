"""The shapes in the annotations hold: the library's tests again, with every call checked."""

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent


@pytest.mark.nightly  # runs the tests of the library a second time
def test_library_calls_keep_the_shapes_of_their_annotations():
    # Tests of errors are left out: the annotations would object before the library does. So are
    # those of compiled and exported modules: a graph cannot hold the checks.
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        str(TESTS / "library"),
        "-k",
        "not value_error and not compiled and not exported",
    ]
    # Pictures and data are not checked; they take most of the time.
    command += [f"--ignore-glob=*test_{name}*" for name in ("plotting", "data", "smollm2")]
    root = (TESTS.parent / "attn_lib").glob("[a-z]*.py")
    modules = [f"attn_lib.{path.stem}" for path in root]
    command += [f"--jaxtyping-packages={','.join(modules)},beartype.beartype"]
    run = subprocess.run(
        command, capture_output=True, text=True, cwd=TESTS.parent, timeout=900
    )
    assert run.returncode == 0, run.stdout[-3000:]


@pytest.mark.slow
def test_a_wrong_shape_is_noticed_when_annotations_are_checked():
    program = """
import jaxtyping
with jaxtyping.install_import_hook("attn_lib", "beartype.beartype"):
    import attn_lib
import torch
try:
    attn_lib.einsum_attention(torch.zeros(5, 6), torch.zeros(7, 4), torch.zeros(7, 3))
except jaxtyping.TypeCheckError:
    print("noticed")
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert run.stdout.strip() == "noticed", run.stderr[-2000:]
