"""Lesson 12's tasks: what is planted is what is handed out, and a test is worth what it catches."""

import ast
import json
import linecache
import sys
from pathlib import Path
from unittest.mock import ANY, Mock

import pytest
import torch
import torch.nn.functional as F

from attn_lib.checks import check, judge, progress, store
from attn_lib.tasks.lesson_12 import test_attention as scoring
from attn_lib.tasks.lesson_12.fixes import PLANTED, broken
from attn_lib.tasks.lesson_12.hidden import GROSS, KINDS, hidden
from tests.checks.attacks_12 import HEAD, LOOK, REMEMBER
from tests.checks.told import told

ROOT = Path(__file__).resolve().parents[2]
EXERCISE = ROOT / "exercises" / "12_testing_attention" / "12_testing_attention.ipynb"


def handed_out(name):
    """Return the definition in the exercise, without the line that says it is not attempted."""
    cells = json.loads(EXERCISE.read_text(encoding="utf-8"))["cells"]
    source = next(
        t for c in cells if (t := "".join(c["source"])).startswith(f"def {name}(")
    )
    (function,) = ast.parse(source).body
    _, stub, *function.body = function.body  # its docstring comes first
    assert ast.unparse(stub) == "raise NotImplementedError"
    return function


@pytest.mark.parametrize("name", PLANTED)
def test_what_is_handed_out_is_broken_by_the_planted_rows_and_named_so(name, monkeypatch):
    monkeypatch.setattr("attn_lib.checks.recognize.PAIR_SECONDS", 30)  # on a busy machine
    function = handed_out(name)
    planted = ast.parse(broken(name)).body[0]
    assert ast.unparse(function.body) == ast.unparse(planted.body)
    namespace = {"torch": torch, "F": F, "math": __import__("math")}
    exec(ast.unparse(function), namespace)
    for seed in range(3):
        verdict = judge(name, namespace[name], seed=seed)
        assert verdict.status == "wrong"
        assert {verdict.mistake, verdict.second} - {None} == set(PLANTED[name].rows)


def test_one_bug_takes_two_edits():
    assert sorted(len(planted.rows) for planted in PLANTED.values()) == [1, 1, 1, 1, 2]


def test_points_go_in_steps():
    shares = (0.0, 0.49, 0.5, 0.59, 0.6, 0.9, 31 / 32, 1.0)
    assert [scoring.points(share, 0) for share in shares] == [0, 0, 1, 1, 2, 5, 5, 6]
    assert [scoring.points(1.0, alarms) for alarms in (1, 2, 3, 8)] == [4, 2, 0, 0]


def inputs(*sizes, dtype=torch.float32):
    B, H, L, S, D, Dv = sizes or (2, 3, 4, 6, 5, 7)
    torch.manual_seed(1)
    q, k, v = (torch.randn(B, H, n, d).to(dtype) for n, d in ((L, D), (S, D), (S, Dv)))
    mask = torch.rand(B, H, L, S) < 0.6
    mask[..., 0] = True
    return q, k, v, mask


def parity(implementation, *sizes, mask=None, **tolerances):
    q, k, v, _ = inputs(*sizes)
    got = implementation(q, k, v, mask)
    want = F.scaled_dot_product_attention(q, k, v, mask)
    torch.testing.assert_close(got, want, **tolerances)


CLOSE = dict(atol=1e-5, rtol=0.0)


def shape_only(implementation):
    q, k, v, mask = inputs()
    assert implementation(q, k, v, mask).shape == (2, 3, 4, 7)


def a_quarter_allowed(implementation):
    parity(implementation, mask=inputs()[3], atol=0.25, rtol=0.0)


def comfortable(implementation):
    parity(implementation, 1, 1, 4, 4, 8, 8, **CLOSE)


def masked(implementation):
    mask = inputs()[3]
    for seen in (None, mask, mask[:, :1], mask[0]):
        parity(implementation, mask=seen, **CLOSE)


def with_masks_of_every_shape(implementation):
    masked(implementation)
    mask = inputs()[3]
    for seen in (mask[0, 0], mask[:, :1, 1:2]):
        parity(implementation, mask=seen, **CLOSE)
    parity(implementation, 1, 2, 4, 4, 5, 7, **CLOSE)


def with_dead_rows(implementation):
    with_masks_of_every_shape(implementation)
    q, k, v, mask = inputs()
    mask[:, :, 2] = False
    mask[:, 1, 0] = False
    got = implementation(q, k, v, mask)
    assert (got[:, :, 2] == 0).all()
    assert (got[:, 1, 0] == 0).all()


def in_half_precision_too(implementation):
    with_dead_rows(implementation)
    q, k, v, mask = inputs(dtype=torch.float16)
    want = F.scaled_dot_product_attention(q.float(), k.float(), v.float(), mask)
    got = implementation(q, k, v, mask)
    assert got.dtype == torch.float16
    assert torch.allclose(got.float(), want, atol=1e-2)


def with_gradients_in_float64(implementation):
    in_half_precision_too(implementation)
    q, k, v, mask = inputs(1, 2, 3, 3, 2, 2, dtype=torch.float64)
    mask[:, :, 1] = False
    leaves = [t.requires_grad_() for t in (q, k, v)]
    assert torch.autograd.gradcheck(implementation, (*leaves, mask), fast_mode=True)


def with_all_gradients(implementation):
    with_gradients_in_float64(implementation)
    for dtype in (torch.float16, torch.float32):
        *leaves, mask = inputs(dtype=dtype)
        mask[:, :, 1] = False
        leaves = [t.requires_grad_() for t in leaves]
        implementation(*leaves, mask).sum().backward()
        exact = [leaf.detach().double().requires_grad_() for leaf in leaves]
        F.scaled_dot_product_attention(*exact, mask).sum().backward()
        for leaf, right in zip(leaves, exact, strict=True):
            assert torch.allclose(leaf.grad.double(), right.grad, atol=2e-2, rtol=2e-2)


def with_large_scores(implementation):
    with_all_gradients(implementation)
    q, k, v, mask = inputs()
    for asked, keys in ((q * 50, k), (-20 * (q.abs() + 1), k.abs() + 1)):
        exact = asked.double(), keys.double(), v.double()
        want = F.scaled_dot_product_attention(*exact, mask)
        got = implementation(asked, keys, v, mask)
        assert torch.allclose(got.double(), want, atol=1e-4)


def without_any_tolerance(implementation):
    parity(implementation, atol=0.0, rtol=0.0)


def default_tolerance(implementation):
    parity(implementation, 2, 3, 40, 60, 50, 7, atol=1e-8, rtol=1e-5)


def finds_fault_with_all(implementation):
    raise AssertionError


def finds_no_fault(implementation):
    assert implementation is not None


@pytest.mark.parametrize(
    ("test", "low", "high"),
    [
        (finds_no_fault, 0, 0),
        (finds_fault_with_all, 0, 0),
        (shape_only, 0, 0),
        (without_any_tolerance, 0, 0),
        (default_tolerance, 0, 4),
        (comfortable, 0, 1),
        (a_quarter_allowed, 0, 1),
        (masked, 1, 2),
        (with_masks_of_every_shape, 2, 3),
        (with_dead_rows, 3, 4),
        (in_half_precision_too, 3, 4),
        (with_gradients_in_float64, 4, 5),
        (with_all_gradients, 5, 5),
        (with_large_scores, 6, 6),
    ],
)
@pytest.mark.slow
def test_a_test_gets_points_for_what_it_catches(test, low, high):
    verdict = judge("test_attention", test)
    assert low <= verdict.points <= high, str(verdict)
    assert (verdict.status == "passed") == (verdict.points == 6)
    if verdict.status != "passed":
        assert verdict.status == "wrong"
        assert verdict.question
        assert f"{verdict.points} of 6 points" in verdict.message
        assert not any(name in verdict.message for _, name in scoring_names())


def test_what_comes_out_of_the_wrong_ones_depends_on_the_seed():
    q, k, v, _ = inputs()
    made = [
        {one.name: one([q, k, v, None], None) for one in hidden(seed)} for seed in (7, 8)
    ]
    shape = (*q.shape[:3], v.shape[-1])
    numbers = [
        {n: r[0] for n, r in of.items() if isinstance(r, list) and r[0].shape == shape}
        for of in made
    ]
    right = numbers[0].pop("right")
    same = [n for n in numbers[0] if numbers[0][n].equal(numbers[1][n])]
    far = [n for n in numbers[0] if (numbers[0][n] - right).abs().max() > 0.1]
    assert {"scale-missing", "softmax-twice", "hard-maximum", "heads-mixed 2"} <= {*far}
    assert not {*same} & {*far}


def scoring_names():
    return [(kind, name) for kind, (names, _) in KINDS.items() for name in names]


@told(
    *(
        "test_attention",
        "accuses-right-ones",
        "raises on every implementation, the right ones too",
    ),
    "in test_what_it_says_of_a_false_alarm_is_what_the_test_raised",
    unsaid="Caught, by kinds",
)
def test_what_it_says_of_a_false_alarm_is_what_the_test_raised(implementation):
    q, k, v, mask = inputs()
    want = F.scaled_dot_product_attention(q, k, v, ~mask)
    assert torch.allclose(implementation(q, k, v, mask), want, atol=1e-5)


@told("test_attention", "accuses-right-ones", "every implementation")
def test_what_accuses_all_is_told_so(implementation):
    raise AssertionError


REFUSED = "The check refused an input: these tensors are too large"


@told("test_attention", "input-refused", REFUSED)
def test_an_input_that_is_refused_is_no_false_alarm(implementation):
    implementation(*torch.ones(3, 1, 1, 3000, 8))


@told("test_attention", "returns-instead-of-raising")
def test_to_return_false_is_not_to_raise(implementation):
    q, k, v, mask = inputs()
    want = F.scaled_dot_product_attention(q, k, v, mask)
    return torch.allclose(implementation(q, k, v, mask), want, atol=1e-5)


@told("test_attention", ANY, "accused 0 of 8")
def test_right_ones_take_masks_of_any_number_of_axes(implementation):
    q, k, v, mask = inputs()
    for seen in (mask, mask[0], mask[0, 0]):
        want = F.scaled_dot_product_attention(q, k, v, seen)
        assert torch.allclose(implementation(q, k, v, seen), want, atol=1e-5)


@told("test_attention", ANY, "accused 0 of 8")
def test_right_ones_agree_on_large_scores_that_float16_holds_exactly(implementation):
    q = torch.full((1, 1, 1, 4), 8.0).half()
    k, v = torch.cat([q, q, -q], dim=2), torch.eye(3).half()[None, None, :, :1]
    assert abs(implementation(q, k, v).item() - 0.5) < 1e-3


def test_the_right_implementations_agree_and_the_wrong_ones_come_first():
    q, k, v, mask = inputs()
    want = F.scaled_dot_product_attention(q, k, v, mask)
    places = set()
    for seed in range(30):
        every = hidden(seed)
        assert len([one for one in every if not one.kind]) == 8
        assert {one.name for one in every if one.kind} == {
            name for _, name in scoring_names()
        }
        assert every[0].name in GROSS
        places.add(next(i for i, one in enumerate(every) if not one.kind))
    for one in every:
        if not one.kind:
            result, _ = one([q, k, v, mask], None)
            assert torch.allclose(result, want, atol=1e-5)
    assert len(places) > 8


def test_the_exercise_says_how_many_there_are():
    every = hidden(0)
    wrong = {one.name for one in every if one.kind}
    copied = {name for name in wrong if [one.name for one in every].count(name) > 1}
    text = EXERCISE.read_text(encoding="utf-8")
    assert f"{len(wrong)} wrong ones, and 8 right ones" in text
    assert len(copied) == 3
    assert "Three of the" in text


@pytest.mark.parametrize("default", [torch.float32, torch.float64])
def test_an_implementation_goes_by_its_inputs_not_by_the_default_dtype(default):
    q, k, v, mask = inputs()
    torch.set_default_dtype(default)
    try:
        for one in hidden(0):
            if not one.kind:
                assert one([q, k, v, mask], None)[0].dtype == torch.float32
    finally:
        torch.set_default_dtype(torch.float32)


CANNOT_BE_GIVEN = [
    ((torch.ones(2, 3), torch.ones(2, 3), torch.ones(2, 3)), "four axes"),
    ((torch.ones(1, 1, 0, 2),) * 3, "four axes"),
    (tuple(torch.ones(1, 1, 3000, 8) for _ in range(3)), "too large"),
    ((torch.ones(20_000, 1, 1, 1),) * 3, "too large"),
    ((*torch.ones(3, 1, 1, 2, 2), torch.ones(2, 2)), "boolean"),
    ((*torch.ones(3, 1, 1, 2, 2), torch.ones(500, 1, 2, 2).bool()), "broadcast"),
    ((*torch.ones(3, 1, 1, 2, 2), torch.ones(3, 2).bool()), "broadcast to (1, 1, 2, 2)"),
    ((torch.ones(1, 1, 2, 2).half(), *torch.ones(2, 1, 1, 2, 2)), "one dtype"),
    ((*torch.ones(2, 1, 1, 2, 2), torch.ones(1, 1, 3, 2)), "v should be"),
    ((*torch.ones(2, 1, 1, 2, 2), None), "float16, float32 or float64"),
    (torch.ones(3, 1, 1, 2, 2).bfloat16(), "float16, float32 or float64"),
    ((*torch.ones(3, 1, 1, 2, 2), torch.ones(2).bool()), "two to four axes"),
]


@pytest.mark.parametrize(("given", "said"), CANNOT_BE_GIVEN)
def test_all_implementations_refuse_the_same_inputs_in_the_same_words(given, said):
    def test(implementation):
        with pytest.raises(RuntimeError) as raised:
            implementation(*given)
        heard.append(str(raised.value))

    heard: list[str] = []
    judge("test_attention", test)
    assert len(heard) > 40
    assert len(set(heard)) == 1
    assert said in heard[0]


def attack(text):
    """Return what a cell with an attack defines."""
    source = HEAD + text
    linecache.cache["<attack>"] = len(source), None, source.splitlines(True), "<attack>"
    namespace = {"__name__": "attack"}
    exec(compile(source, "<attack>", "exec"), namespace)
    return namespace


@pytest.mark.slow
@pytest.mark.parametrize("text", REMEMBER.values(), ids=REMEMBER)
def test_to_remember_other_implementations_gains_nothing(text):
    earned = []
    for seed in range(2):
        names = attack(text)
        earned.append(judge("test_attention", names["test_attention"], seed=seed).points)
        assert len(names["seen"]) > 40  # it took place
    assert earned == [0] * 2


@pytest.mark.parametrize("text", LOOK.values(), ids=LOOK)
def test_to_look_at_an_implementation_shows_the_same_for_all(text):
    names = attack(text)
    verdict = judge("test_attention", names["test_attention"])
    assert verdict.points == 0
    assert len(names["seen"]) > 40, verdict  # it took place
    assert len(set(names["seen"])) == 1


@pytest.mark.parametrize("error", [SystemExit, RecursionError, MemoryError, StopIteration])
def test_any_exception_counts_and_ends_nothing(error):
    def test(implementation):
        raise error

    verdict = judge("test_attention", test)
    assert (verdict.status, verdict.points) == ("wrong", 0)
    assert verdict.mistake == "accuses-right-ones"


@pytest.mark.parametrize(
    ("error", "status"),
    [(KeyboardInterrupt, "error"), (NotImplementedError, "not attempted")],
)
def test_an_interrupted_test_is_interrupted_and_a_stub_is_not_attempted(error, status):
    verdict = judge("test_attention", Mock(side_effect=error))
    assert verdict.status == status
    assert ("You interrupted it" in verdict.message) == (status == "error")


def test_a_slow_test_is_stopped_and_told_so(monkeypatch):
    monkeypatch.setattr(sys.modules["attn_lib.checks.judge"], "SCORED_SECONDS", 0.0)
    verdict = judge("test_attention", with_large_scores)
    assert (verdict.status, verdict.points) == ("error", 0)
    assert "After 0 seconds, it was done with" in verdict.message


def test_what_a_test_does_to_its_session_stays_in_its_run():
    def test(implementation):
        print("x" * 100_000)
        torch.set_default_dtype(torch.float64)
        drawn.append(torch.rand(1).item())
        raise AssertionError()

    drawn: list[float] = []
    verdict = judge("test_attention", test)
    assert torch.get_default_dtype() == torch.float32
    assert len(set(drawn)) == 1  # each run begins with the same random numbers
    assert len(verdict.printed) <= 10_000


@pytest.mark.slow
def test_points_in_steps_are_kept_and_shown_and_the_best_count(capsys):
    check("test_attention", masked)
    best = judge("test_attention", masked).points
    check("test_attention", shape_only)
    entry = store.load()[0]["test_attention"]
    assert (entry["points"], entry["passed"], entry["attempts"]) == (best, False, 2)
    capsys.readouterr()
    progress(12)
    shown = capsys.readouterr().out
    assert f"✗ attempted                     {best} of 6" in shown
    assert f"1 attempted  {best} of 15" in shown
    check("test_attention", with_large_scores)
    capsys.readouterr()
    progress(12)
    assert "6 of 6" in capsys.readouterr().out


def test_no_points_are_kept_of_a_task_that_is_not_scored_in_steps():
    check("fix_1", lambda x, num_heads: x)
    assert "points" not in store.load()[0]["fix_1"]
