"""The mutants of a module, and the tests that are run on them."""

import ast
from pathlib import Path

import pytest

from tests.mutation import __main__ as sampler
from tests.mutation.mutants import mutants

SOURCE = '''
def f(x: "1", *, y=True):
    """0."""
    if x.any() and y:
        raise ValueError("2", 3)
    return g(x.clone(), -y, key=2) <= 1, f"{1}"
'''


def changes(source):
    return [(m.place, m.change) for m in mutants(source)]


def test_every_change_is_one_that_is_meant():
    call = "g(x.clone(), -y, key=2)"
    assert [change for _, change in changes(SOURCE)] == [
        "True -> False",
        "x.any() and y -> x.any() or y",
        "x.any() -> x",
        "raise ValueError('2', 3) -> pass",
        f"{call} <= 1 -> {call} < 1",
        f"{call} -> g(x.clone(), -y)",
        f"{call} -> g(-y, x.clone(), key=2)",
        "x.clone() -> x",
        "-y -> y",
        "2 -> 3",
        "2 -> 1",
        "1 -> 2",
        "1 -> 0",
    ]


def test_a_change_says_in_which_function_it_is_and_changes_something():
    source = "x = 1\nclass A:\n    def f(self):\n        return 2\n"
    assert {place for place, _ in changes(source)} == {"", "A.f"}
    assert not list(mutants("y = f(x, x)"))
    assert changes("y = zip(x, strict=False)") == [("", "False -> True")]


def test_one_place_is_changed_and_the_rest_stands_as_it_was():
    for mutant in mutants("a = 'ä' * 2  # why\nb = (x @\n     y)\n"):
        ast.parse(mutant.source)
        assert "# why" in mutant.source
        _, new = mutant.change.split(" -> ")
        assert f"({new})" in mutant.source
    assert len({m.source for m in mutants(SOURCE)}) == len(changes(SOURCE))


def test_a_modules_own_tests_come_first_and_each_module_has_some():
    own, others = sampler.concerned(sampler.ROOT, "attn_lib/masks.py")
    assert [Path(name).name for name in own] == ["test_masks.py"]
    assert {Path(name).parent.name for name in others} == {"library"}
    for name in sampler.modules():
        assert any(sampler.concerned(sampler.ROOT, name)), name


@pytest.mark.slow
@pytest.mark.parametrize(("limit", "survived"), [(3, True), (2, False)])
@pytest.mark.nightly
def test_a_mutant_survives_what_does_not_notice_it(tmp_path, limit, survived):
    (tmp_path / "attn_lib").mkdir()
    (tmp_path / "tests/library").mkdir(parents=True)
    (tmp_path / "attn_lib/__init__.py").touch()
    module = tmp_path / "attn_lib/limit.py"
    module.write_text("LIMIT = 1\n")
    (tmp_path / "tests/library/test_limit.py").write_text(
        f"from attn_lib.limit import LIMIT\ndef test_it():\n    assert LIMIT < {limit}\n"
    )
    two = next(mutant for mutant in mutants(module.read_text()) if "-> 2" in mutant.change)
    assert sampler.survives(tmp_path, "attn_lib/limit.py", two) == survived
    assert module.read_text() == "LIMIT = 1\n"
