"""Which question an answer is asked: one mistake, two at once, a mistake beside something unknown."""

import math
import time
from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import attn_lib
from attn_lib.checks import judge
from attn_lib.checks.case import Case
from attn_lib.checks.observe import Outcome, Raised
from attn_lib.checks.recognize import (
    Recognized,
    _gap,
    _outline,
    _same_error,
    _Search,
    alike,
    is_plain,
    recast,
    same_value,
)
from attn_lib.checks.task import Mistake, find_task
from attn_lib.smollm2 import OUR_NAMES
from tests.checks.told import told


@told("attention", "scale-missing", second=None, unsaid="waits")
def test_one_mistake_is_named_however_it_is_written(q, k, v):
    weights = torch.stack(
        [torch.softmax(row @ keys.T, -1) for row, keys in zip(q, k, strict=True)]
    )
    return weights @ v, weights


@told("attention_scores", None)
def test_a_nan_alone_is_not_taken_for_that_of_a_known_mistake(q, k):
    """The logarithm of a negative score is nan; a causal mask puts infinities beside other numbers."""
    return (1 + q @ k.mT).log()


@told(
    *("SelfAttention", "softmax-over-queries", "A second thing may wait behind this one."),
    second="scale-missing",
    forward_of=attn_lib.SelfAttention,
)
def test_two_common_mistakes_are_found_among_many_rows(self, x):
    q, k, v = self.q_proj(x), self.k_proj(x), self.v_proj(x)
    return (q @ k.mT).softmax(1) @ v


@told("attention", "scale-missing", second="no-gradient")
def test_a_lost_gradient_beside_a_mistake_is_said_to_wait(q, k, v):
    weights = (q @ k.detach().mT).softmax(-1)
    return weights @ v, weights


@told("attention_scores", "scale-missing", second=None)
def test_a_mistake_that_raises_where_gradients_are_needed_loses_none(q, k):
    return torch.from_numpy((q @ k.mT).float().numpy()).to(q)


@told("mixture", "dtype-changed", second="no-gradient")
def test_a_lost_gradient_beside_another_dtype_is_said_to_wait(weights, values):
    return weights.double() @ values.detach().double()


@told("attention_scores", "scale-missing", second="changes-input")
def test_a_changed_input_beside_a_mistake_is_said_to_wait(q, k):
    scores = q @ k.mT
    q += 1
    return scores


def test_two_mistakes_that_are_found_late_are_found_on_a_slow_machine_too(monkeypatch):
    """Neither the state of a machine nor its age may change a verdict."""

    class SelfAttention(nn.Module):
        def __init__(self, d_model, head_dim):
            super().__init__()
            self.q_proj, self.k_proj, self.v_proj = (
                nn.Linear(d_model, head_dim) for _ in range(3)
            )

        def forward(self, x):
            q, k, v = self.q_proj(x), self.k_proj(x), self.v_proj(x)
            return (k @ q.mT / q.shape[-1] ** 0.5).softmax(-1) @ v

    slow = Mock(thread_time=lambda: 2 * time.thread_time())
    monkeypatch.setattr("attn_lib.checks.recognize.time", slow)
    verdict = judge("SelfAttention", SelfAttention)
    assert {verdict.mistake, verdict.second} == {"bias-left-in", "transposed-scores"}


@told("map_llama_name", "another-error", status="error", second=None, unsaid="waits")
def test_one_mistake_made_twice_is_asked_about_once(name):
    """Raise an IndexError for some names, a KeyError for others."""
    names = {"token_embd.weight": "embed.weight", "output_norm.weight": "norm.weight"}
    if name in names:
        return names[name]
    words = name.split(".")
    return f"blocks.{words[1]}.{OUR_NAMES[words[2]]}.weight"


@told("attention", "scale-missing", "Think: On this input")
def test_a_mistake_beside_something_unknown_is_asked_about_with_a_hedge(q, k, v):
    weights = (q @ k.mT).softmax(-1)
    return (weights @ v, weights) if len(q) < 3 else (weights @ v.flip(1), weights + 1)


@pytest.mark.parametrize(
    ("mistake", "made"),
    [
        ("axis-too-many", lambda w: w.std(-1)[..., None]),
        ("axis-too-few", lambda w: w.std()),
        ("axis-of-another-size", lambda w: w.std((0, 1, 2))),
    ],
)
def test_of_another_shape_it_is_asked_where_it_comes_from(mistake, made):
    verdict = judge("attention_entropy", made)
    assert verdict.mistake == mistake
    assert verdict.question.startswith("Print the shape after each line.")


@told("mean_attention_distance", "distances-of-another-dtype", status="error")
def test_of_two_errors_the_one_with_the_same_words_on_the_input_shown_is_named(weights):
    """A product of float and long says one thing of two axes, and of three what an einsum says."""
    places = torch.arange(weights.shape[-1])
    total = torch.einsum("bhij,ij->h", weights, (places[:, None] - places).abs())
    return total / (len(weights) * weights.shape[2])


@told("attention", None)
def test_what_nobody_knows_is_not_asked_about(q, k, v):
    return v[:, :1] * 3.25 + q.sum(), q @ k.mT + 7


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_right_numbers_of_another_dtype_are_asked_about_their_dtype_only(dtype):
    """No two mistakes are named that cancel, as a division by l in each step and none at the end."""

    def answer(q, k, v, chunk_size, is_causal=False):
        wide = (x.to(dtype) for x in (q, k, v))
        return F.scaled_dot_product_attention(*wide, is_causal=is_causal)

    verdict = judge("chunked_attention", answer)
    assert (verdict.mistake, verdict.second) == ("dtype-changed", None)


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.int64, torch.uint8, torch.complex64]
)
def test_a_mask_of_zeros_and_ones_beside_a_mistake_is_asked_about_both(dtype):
    def rows_from_the_end(q_len, kv_len):
        square = torch.ones(kv_len, kv_len).tril()
        return square[-q_len:].to(dtype)

    verdict = judge("causal_mask", rows_from_the_end)
    assert verdict.mistake == "not-boolean"
    assert verdict.second == "last-rows-of-a-square"


@pytest.mark.parametrize("dtype", [torch.float16, torch.complex64])
def test_a_right_mask_of_zeros_and_ones_is_asked_about_its_dtype_only(dtype):
    verdict = judge("causal_mask", lambda L, S: attn_lib.causal_mask(L, S).to(dtype))
    assert (verdict.mistake, verdict.second) == ("not-boolean", None)


def test_other_numbers_than_zero_and_one_are_not_taken_for_booleans():
    want = Outcome([torch.tensor([True, False])])
    twice, once = (Outcome([torch.tensor([n, 0])]) for n in (2, 1))
    assert recast(twice, want) is twice
    assert recast(once, want).values[0].dtype == torch.bool


@told("chunked_attention", "dtype-changed", "should have dtype", second="scale-missing")
def test_a_mistake_of_another_dtype_is_asked_about_what_is_shown_first(
    q, k, v, chunk_size, is_causal=False
):
    wide = (x.double() for x in (q, k, v))
    return F.scaled_dot_product_attention(*wide, is_causal=is_causal, scale=1.0)


@told("chunked_attention", "full-matrix", "250,000 numbers", second=None)
def test_a_matrix_is_named_whatever_operation_made_it(q, k, v, chunk_size, is_causal=False):
    scores = torch.einsum("bhld,bhsd->bhls", q, k) / q.shape[-1] ** 0.5
    if is_causal:
        scores = torch.where(torch.ones_like(scores).tril() > 0, scores, -torch.inf)
    return torch.einsum("bhls,bhsd->bhld", scores.softmax(-1), v)


@told("masked_softmax", "inverted", second="full-row-nan")
def test_a_mask_that_is_turned_round_is_one_mistake_and_empty_rows_are_another(
    scores, mask
):
    return scores.masked_fill(mask, -torch.inf).softmax(-1)


@told("masked_attention", "everything-forbidden", second=None, unsaid="waits")
def test_a_mask_that_is_made_up_the_wrong_way_round_is_one_mistake(q, k, v, mask=None):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is None:
        mask = torch.zeros_like(scores, dtype=torch.bool)
    return attn_lib.masked_softmax(scores, mask) @ v


@told("chunked_attention", "scale-missing", second="full-matrix")
def test_a_mistake_that_shows_in_numbers_is_asked_about_before_memory(
    q, k, v, chunk_size, is_causal=False
):
    scores = q @ k.mT
    if is_causal:
        scores = torch.where(torch.ones_like(scores).tril() > 0, scores, -torch.inf)
    return scores.softmax(-1) @ v


@told("repeat_kv", None, status="error")
def test_the_same_error_in_other_words_proves_nothing(x, num_heads):
    raise TypeError("other words")


@told("attention_scores", None, unsaid="by up to 0.000")
def test_the_input_shown_has_a_difference_that_can_be_seen(q, k):
    """Not the smallest one, if the numbers differ there in the fourth digit only."""
    exact = q @ k.mT / q.shape[-1] ** 0.5
    return exact * (1.0003 if q.numel() < 10 else 1.5)


@pytest.mark.parametrize("name", ["attention_entropy", "gated_heads", "MultiHeadAttention"])
@pytest.mark.slow
def test_a_search_in_vain_ends_soon(name):
    """The bound is for a search without end, not for its speed, which `make bench` measures."""
    reference = find_task(name).reference

    def skewed(result):
        return result + 0.37 * torch.arange(result.shape[-1])

    def function(*args, **kwargs):
        return skewed(reference(*args, **kwargs))

    def module(*init):
        made = reference(*init)
        made.register_forward_hook(lambda module, args, result: skewed(result))
        return made

    start = time.thread_time()
    assert judge(name, module if isinstance(reference, type) else function).mistake is None
    assert time.thread_time() - start < 30


@told("sinusoidal_positions", "concatenated", "second thing")
def test_of_two_mistakes_the_one_that_makes_the_number_shown_is_asked_about(
    length, d_model
):
    """The first wrong number is at position 0: there all angles are 0, however wrong the speeds are."""
    i = torch.arange(d_model // 2)
    angles = torch.arange(length)[:, None] * 10000.0 ** (-i / d_model)
    return torch.cat([angles.sin(), angles.cos()], -1)


@told("encoder_decoder_masks", "inverted", "second thing")
def test_of_two_mistakes_in_masks_the_one_that_makes_the_entry_shown_is_asked_about(
    src_ids, tgt_ids, pad_id
):
    """The first wrong entry is one of the encoder's mask, where a triangle in the cross mask is not seen."""
    src, tgt = ((ids == pad_id)[:, None, None] for ids in (src_ids, tgt_ids))
    S, L = src_ids.shape[1], tgt_ids.shape[1]
    future = torch.ones(L, max(L, S), dtype=torch.bool).triu(1)
    return src, tgt | future[:, :L], src | future[:, :S]


@told("CrossAttention", "softmax-over-queries", forward_of=attn_lib.CrossAttention)
def test_a_softmax_over_the_queries_without_nan_in_empty_rows(
    self, x, context, context_mask=None
):
    (k, v), H = self.keys_values(context), self.num_heads
    q = self.q_proj(x).unflatten(-1, (H, -1)).transpose(1, 2)
    mask = torch.ones(1, 1, dtype=bool) if context_mask is None else context_mask
    mask = mask[:, None, None]
    empty = ~mask.any(-1, keepdim=True)
    scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~mask, -torch.inf)
    weights = scores.masked_fill(empty, 0.0).softmax(-2).masked_fill(empty, 0.0)
    return self.o_proj((weights @ v).transpose(1, 2).flatten(2))


@told("next_token_loss", "shifted-by-a-roll", "`roll`")
def test_a_roll_is_asked_about_what_it_puts_at_the_end(logits, ids, pad_id):
    targets = ids.roll(-1, dims=1)
    losses = F.cross_entropy(logits.mT, targets, reduction="none")
    real = targets != pad_id
    return (losses * real).sum() / real.sum().clamp(min=1)


@pytest.mark.parametrize("share", [0.1, 0.2, 0.5])
def test_a_dropout_that_ignores_eval_is_named_whatever_its_share_and_place(share):
    class PreNormBlock(attn_lib.PreNormBlock):
        def forward(self, x, mask=None):
            x = x + F.dropout(self.attn(self.norm1(x), mask=mask), share)
            return x + self.ff(self.norm2(x))

    assert judge("PreNormBlock", PreNormBlock).mistake == "dropout-in-eval"


BLOCK = attn_lib.PreNormBlock


@told(
    "PreNormBlock",
    "way-back-overwritten",
    "`x = x + y` makes a new",
    status="error",
    forward_of=BLOCK,
)
def test_what_writes_into_x_is_told_what_to_write_instead(self, x, mask=None):
    x = x + self.attn(self.norm1(x), mask=mask)
    x += self.ff(self.norm2(x))
    return x


@told("PreNormBlock", "norm-at-the-end", forward_of=BLOCK)
def test_a_norm_too_many_that_the_task_does_not_name(self, x, mask=None):
    return F.layer_norm(BLOCK.forward(self, x, mask=mask), x.shape[-1:])


NAN, INF = math.nan, math.inf
ONES = torch.ones(2)
SPARSE = ONES.to_sparse()
NESTED = torch.nested.as_nested_tensor([ONES], layout=torch.jagged)


@pytest.mark.parametrize(
    ("x", "y", "is_same"),
    [
        (ONES, ONES * 1.00009, True),
        (ONES, ONES * 1.00015, False),
        (ONES, ONES.double(), False),
        (ONES, torch.ones(3), False),
        (ONES, ONES.to("meta"), False),
        (ONES.to("meta"), ONES.to("meta"), True),
        (ONES, SPARSE, False),
        (SPARSE, 2 * SPARSE, True),
        (NESTED, NESTED, True),
        (NESTED, ONES, False),
        (ONES, NESTED, False),
        (torch.tensor([1.0, NAN]), torch.tensor([1.0, INF]), True),
        (torch.tensor([1.0, NAN]), torch.tensor([2.0, NAN]), False),
        (ONES * NAN, torch.tensor([1.0, INF]), False),
        (ONES * NAN, ONES, False),
        (ONES, ONES * INF, False),
        (ONES, 1.0, False),
        (1.0, ONES, False),
        (1.0, 1.00009, True),
        (1.0, 1.00015, False),
        (NAN, NAN, True),
        (NAN, 1.0, False),
        (1.0, NAN, False),
        (1, 1.0, False),
        (1, 1, True),
        (1, 2, False),
        ("a", "a", True),
        ("a", "b", False),
        ([ONES], [ONES, ONES], True),
        ([ONES], (ONES,), False),
    ],
)
def test_two_results_are_the_same_if_nobody_would_tell_them_apart(x, y, is_same):
    assert same_value(x, y, None) is is_same


def raised(kind, text=""):
    return Outcome(error=Raised(kind, text, text))


@pytest.mark.parametrize(
    ("a", "b", "is_alike"),
    [
        (Outcome([1, 2]), Outcome([1, 2]), True),
        (Outcome([1, 2]), Outcome([1, 3]), False),
        (Outcome([1, 2]), Outcome([1]), False),
        (raised("TypeError", "a"), raised("TypeError", "b"), True),
        (raised("TypeError"), raised("ValueError"), False),
        (raised("TypeError"), Outcome([1]), False),
        (Outcome([1]), raised("TypeError"), False),
    ],
)
def test_two_answers_do_the_same_if_they_return_or_raise_the_same(a, b, is_alike):
    assert alike(a, b, None) is is_alike


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("no 1\nbut 2", "no 1\nbut 3", True),
        ("no 1\nbut 2", "no 2\nbut 2", False),
        ("'NoneType' has no softmax", "+ of NoneType and int", True),
        ("'NoneType' has no softmax", "no softmax", False),
        ("no softmax", "'NoneType' has no softmax", False),
    ],
)
def test_errors_are_one_by_their_first_lines_or_by_a_none(one, other, is_same):
    assert (
        _same_error(*(raised("TypeError", text).error for text in (one, other))) is is_same
    )


def test_an_outline_is_what_can_be_told_without_numbers():
    assert _outline(raised("TypeError", "no")) == ["TypeError"]
    assert _outline(Outcome([ONES, 3])) == [(ONES.shape, torch.float32), int]


@pytest.mark.parametrize(
    ("want", "mine", "theirs", "gap"),
    [
        ([1.0, 1.0, 1.0], [1.0, 3.0, 5.0], [1.0, 3.5, 9.0], 0.5),  # at the first wrong one
        ([1.0, 1.0, 1.0], [1.0, 3.0, 5.0], [9.0, 3.0, 9.0], 0.0),
        ([1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [9.0, 9.0, 9.0], 0.0),
        ([1.0, 1.0, 1.0], [1.0, NAN, 5.0], [1.0, 3.5, 9.0], INF),
        ([1.0, 1.0, 1.0], [1.0, 3.0], [1.0, 3.5], 0.0),  # of another shape: there is none
        ([0.0, 1.0], [5.0, 1e6], [4.0, 1e6], 1.0),  # relative to what was wanted
        ([True, True], [True, False], [False, False], 0.0),
        ([True, True], [True, False], [False, True], 1.0),
        ([4, 5], [4, 2], [9, 9], 7.0),
        # Not every tensor can be looked at number by number.
        *((ONES * 2, odd, ONES, 0.0) for odd in (SPARSE, ONES.to("meta"), NESTED)),
        *((ONES * 2, ONES, odd, 0.0) for odd in (SPARSE, ONES.to("meta"), NESTED)),
    ],
)
def test_the_gap_between_two_answers_is_that_at_the_number_shown(want, mine, theirs, gap):
    three = [Outcome([torch.as_tensor(x)]) for x in (want, mine, theirs)]
    assert _gap(*three) == gap
    for outcome in three:
        outcome.values[:0] = [ONES, ONES.int()]  # what agrees is passed over
    three[2].values.append(ONES)  # one result too many
    assert _gap(*three) == gap


def test_results_arerecast_to_the_float_dtypes_that_were_wanted():
    third = torch.tensor([1 / 3], dtype=torch.float64)
    want = Outcome([third, ONES, ONES.int(), "text"])
    got = Outcome([third.half(), ONES.double() * 2, ONES.long(), "other"])
    first, second, *others = recast(got, want).values
    assert first is third  # right in all the digits of its dtype
    assert second.dtype == torch.float32
    assert second.tolist() == [2.0, 2.0]
    assert others[0] is got.values[2]
    assert others[1] == "other"
    assert recast(want, want) is want
    few = replace(got, values=got.values[:1])
    assert recast(few, want) is few


@pytest.mark.parametrize(
    ("dtypes", "is_it"),
    [
        ((torch.float32, torch.int64), True),
        ((torch.int64,), True),
        ((torch.float16,), False),
    ],
)
def test_a_case_is_plain_if_its_floats_have_the_common_dtype(dtypes, is_it):
    assert is_plain(Case("", tuple(ONES.to(dtype) for dtype in dtypes))) is is_it


def result(*numbers):
    return Outcome([torch.tensor([float(number) for number in numbers])])


RIGHT = result(0)


def search(does, failing, mistakes=(), pairs=(), **of_cases):
    """Return a search among mistakes that are lists of what they do on each case.

    Args:
        does: what the answer does on each case.
        failing: the numbers of the cases that it fails.
        mistakes: the numbers that each mistake gives.
        pairs: what two mistakes give together, by their numbers.
        of_cases: lists of options of the cases; "raises" is whether the reference raises an error.
    """
    known = [[result(*given) for given in mistake] for mistake in mistakes]
    does_of = {(m,): outcomes for m, outcomes in enumerate(known)}
    both = {m: [result(*given) for given in two] for m, two in dict(pairs).items()}
    refused = of_cases.pop("raises", [False] * len(does))
    expected = [raised("ValueError") if is_refused else RIGHT for is_refused in refused]
    each = ({name: of_cases[name][i] for name in of_cases} for i in range(len(does)))
    tried = SimpleNamespace(
        cases=[Case("", (torch.zeros(1),), **of) for of in each],
        expected=expected.__getitem__,
        mistaken=lambda numbers, i: (does_of | both)[numbers][i],
        known=SimpleNamespace(
            mistakes=[Mistake(f"mistake {m}", "Why?", {}) for m in range(len(known))],
            compose=lambda a, b: (a, b) in both,
            first_line=lambda m: 0,
        ),
    )
    return _Search(tried, does, failing)


@pytest.mark.parametrize(
    ("does", "options", "it_tells"),
    [
        (result(1, 2, 3, 4), {}, True),
        (result(1, 2, 3, 3), {}, False),
        (Outcome([torch.arange(8)]), {}, True),
        (Outcome([torch.arange(7)]), {}, False),
        (result(1, 2, 3, NAN, NAN), {}, False),
        (Outcome(["text"]), {}, True),
        (Outcome([3, 4, 5, 6]), {}, False),
        (raised("TypeError"), {}, False),
        (raised("TypeError"), {"raises": [True]}, True),
        (Outcome(error=Raised("Wrong", "", "", is_wrong=True)), {}, True),
    ],
)
def test_many_numbers_a_text_or_a_chosen_error_are_no_accident(does, options, it_tells):
    assert search([does], [0], **options)._tells(0) is it_tells


@pytest.mark.parametrize(
    ("does", "is_it"),
    [
        ([result(1, 2, 3), result(4, 5, 6, 7, 8)], True),
        ([result(1, 2, 3), result(4, 5, 6, 7, 7)], False),
        ([result(*range(1, 9))], False),
        ([Outcome(["text"]), result(4, 5, 6, 7)], True),
        ([Outcome(["text"])], False),
    ],
)
def test_agreement_on_few_numbers_is_not_much(does, is_it):
    numbers = [*range(len(does))]
    assert search(does, numbers)._is_much(numbers) is is_it


A, B = raised("TypeError", "a"), raised("TypeError", "b")


@pytest.mark.parametrize(
    ("does", "theirs", "raises", "it_proves"),
    [
        (result(1), result(1), (0, 0), True),
        (result(1), replace(result(1), is_sequence=True), (0, 0), False),
        (A, A, (0, 0), True),
        (A, B, (0, 0), False),
        (A, result(1), (0, 0), False),
        (A, B, (1, 0), True),
        (A, B, (0, 1), False),
        (raised("ValueError", "a"), raised("ValueError", "b"), (0, 1), True),
        (raised("ValueError", "a"), raised("ValueError", "b"), (0, 0), False),
    ],
)
def test_an_error_proves_something_if_it_was_chosen_or_is_the_same(
    does, theirs, raises, it_proves
):
    made = search([does, RIGHT], [0], mistakes=[[[1], [1]]], raises=raises)
    made.tried.mistaken = lambda numbers, i: theirs
    assert made._proves((0,), 0) is it_proves
    assert made._proves((0,), 1) is False  # which is no failing one


def four(*numbers):
    """Return lists of four numbers each, all different."""
    return [[n, n + 0.1, n + 0.2, n + 0.3] if n else [0] for n in numbers]


FAILS = [result(*numbers) for numbers in four(1, 2, 3, 4)]


def test_what_explains_half_of_the_failing_inputs_is_named_with_a_hedge():
    half = four(0, 2, 3, 0)
    made = search(FAILS, [0, 1, 2, 3], [half])
    mistake = made.mistakes[0]
    assert made.part_of_it() == Recognized(mistake, 1, None, is_all=False, is_sure=False)
    small = [result(1), result(2), result(3), result(4)]
    assert search(small, [0, 1, 2, 3], [[[0], [2], [3], [0]]]).part_of_it() is None
    assert search(FAILS, [0, 1, 2, 3], [four(0, 2, 0, 0)]).part_of_it() is None
    # On the others, the answer is right where the mistake would be seen.
    does = [*FAILS[:3], RIGHT]
    assert search(does, [0, 1, 2], [four(1, 2, 3, 5)]).part_of_it() is None
    best = search(FAILS, [0, 1, 2, 3], [half, four(1, 2, 3, 0)])
    assert best.part_of_it().mistake.id == "mistake 1"


def test_of_two_that_explain_as_much_the_one_is_named_that_shows_on_fewer_others():
    """Where it shows, and the answer does something else, the answer makes another mistake."""
    shows_elsewhere, does_not = four(1, 2, 9, 0), four(1, 2, 0, 0)
    for mistakes in ([shows_elsewhere, does_not], [does_not, shows_elsewhere]):
        made = search(FAILS, [0, 1, 2, 3], mistakes)
        found = made.mistakes.index(made.part_of_it().mistake)
        assert mistakes[found] is does_not


def test_only_the_first_six_of_the_quick_failing_inputs_are_looked_at():
    does = [result(*numbers) for numbers in four(*range(1, 9))]
    three = [four(1, 2, 0, 0, 0, 6, 0, 0)]
    failing = [*range(8)]
    assert search(does, failing, three).part_of_it() is not None
    slow = [True, False, False, False, False, False, False, False]
    made = search(does, failing, three, is_slow=slow)
    assert made.part_of_it() is None
    assert made.all[-1] == 0
    assert made.quick == failing[1:]


def test_what_alone_explains_the_input_shown_is_named_with_a_hedge():
    does = [result(1, 2, 3, 4), result(5), result(6)]
    one = [[[1, 2, 3, 4], [0], [0]]]
    found = search(does, [0, 1, 2], one).part_of_it()
    assert (found.mistake.id, found.case) == ("mistake 0", 0)
    assert (found.is_all, found.is_sure) == (False, False)
    assert search(does, [0, 1, 2], [*one, one[0]]).part_of_it() is None  # two do
    assert search([result(1), *does[1:]], [0, 1, 2], [[[1], [0], [0]]]).part_of_it() is None


def test_two_mistakes_explain_what_none_does_alone():
    does = [result(3), result(3), RIGHT]
    alone = [[[1], [3], [0]], [[2], [0], [0]]]
    made = search(does, [0, 1], alone, pairs={(0, 1): [[3], [3], [0]]})
    found = made.all_of_it()
    assert (found.mistake.id, found.second.id) == ("mistake 1", "mistake 0")
    assert (found.case, found.is_all, found.is_sure) == (0, True, True)


def test_of_two_pairs_that_explain_everything_that_one_is_asked_about_that_shows_less():
    does = [result(3), result(5)]
    shows_elsewhere, does_not, other = [[3], [9]], [[3], [0]], [[0], [5]]
    pairs = {(0, 2): [[3], [5]], (1, 2): [[3], [5]]}
    found = search(
        does, [0, 1], [shows_elsewhere, does_not, other], pairs=pairs
    ).all_of_it()
    assert (found.mistake.id, found.second.id) == ("mistake 1", "mistake 2")


@pytest.mark.parametrize(("words", "it_is_found"), [("a", True), ("b", False)])
def test_two_mistakes_that_raise_another_error_on_the_input_shown_explain_nothing(
    words, it_is_found
):
    does = [raised("RuntimeError", "a"), result(3), RIGHT]
    alone = [[[1], [3], [0]], [[2], [0], [0]]]
    made = search(does, [0, 1], alone, pairs={(0, 1): [[3], [3], [0]]})
    theirs = [raised("RuntimeError", words), result(3), RIGHT]
    single = made.tried.mistaken
    made.tried.mistaken = lambda numbers, i: (
        theirs[i] if numbers == (0, 1) else single(numbers, i)
    )
    assert (made.all_of_it() is not None) is it_is_found


def test_what_explains_all_but_rare_dtypes_leaves_something_behind_it():
    does = [result(1), result(2)]
    made = search(does, [0, 1], [[[1], [0]]])
    made.plain = [0]
    assert made.all_of_it() == Recognized(made.mistakes[0], 0, None, is_all=False)
    two = search(does, [0, 1], [[[3], [0]], [[4], [0]]], pairs={(0, 1): [[1], [0]]})
    two.plain = [0]
    found = two.all_of_it()
    assert {found.mistake.id, found.second.id} == {"mistake 0", "mistake 1"}
    assert found.is_all is False
    assert search(does, [0, 1], [[[1], [0]]]).all_of_it() is None


def test_of_two_mistakes_the_one_with_the_same_kind_of_result_is_asked_about():
    made = search([result(3, 3)], [0], [[[3]], [[9, 9]]], pairs={(0, 1): [[3, 3]]})
    assert made.all_of_it().mistake.id == "mistake 1"
