"""An answer that is right but for what it keeps from one call to the next is told just that."""

import pytest

from attn_lib.checks import judge
from attn_lib.checks.afresh import afresh

HEAD = "import functools, math, torch\n"
# The slopes of the first call, for whatever number of heads comes later.
KEEPS = {
    "a default": "def slopes(H, kept=[]):\n    kept.append(kept[0] if kept else ours(H))\n    return kept[0][:H]",
    "a global dict": "KEPT = {}\ndef slopes(H):\n    return KEPT.setdefault('slopes', ours(H))[:H]",
    "a global name": "KEPT = None\ndef slopes(H):\n    global KEPT\n    KEPT = ours(H) if KEPT is None else KEPT\n    return KEPT[:H]",
    "an attribute": "def slopes(H):\n    if not hasattr(slopes, 'kept'):\n        slopes.kept = ours(H)\n    return slopes.kept[:H]",
    "a closure": "def made():\n    kept = []\n    def slopes(H):\n        kept.append(ours(H))\n        return kept[0][:H]\n    return slopes\nslopes = made()",
    "a cache": "@functools.lru_cache\ndef first(number):\n    return [ours(number.pop())]\nclass Set(set):\n    __hash__ = lambda self: 0\n    __eq__ = lambda self, other: True\ndef slopes(H):\n    return first(Set([H]))[0][:H]",
}
ANSWER = """
def ours(H):
    return 2.0 ** (-8 * torch.arange(1, H + 1) / H)


{keeps}


def alibi_bias(num_heads, L, S=None):
    S = L if S is None else S
    h = slopes(num_heads)
    h = torch.cat([h, h.new_zeros(num_heads - len(h))])
    i, j = torch.arange(S - L, S)[:, None], torch.arange(S)
    return -h[:, None, None] * (i - j).abs()
"""


def answer(keeps: str) -> str:
    return HEAD + ANSWER.format(keeps=keeps)


@pytest.mark.parametrize("keeps", KEEPS.values(), ids=KEEPS)
def test_what_is_kept_is_named_wherever_it_is_kept(keeps):
    names: dict = {"__name__": "cell"}
    exec(answer(keeps), names)
    verdict = judge("alibi_bias", names["alibi_bias"])
    assert verdict.mistake == "keeps-something"
    assert "What does it keep" in verdict.question


def test_an_answer_that_keeps_what_is_right_passes_and_a_wrong_one_is_told_its_mistake():
    for keeps, expected in (
        ("def slopes(H, kept={}):\n    return kept.setdefault(H, ours(H))", None),
        ("def slopes(H, kept={}):\n    return kept.setdefault(H, ours(H) / 2)", "any"),
    ):
        names: dict = {"__name__": "cell"}
        exec(answer(keeps), names)
        verdict = judge("alibi_bias", names["alibi_bias"])
        assert (verdict.status == "passed") == (expected is None)
        assert verdict.mistake != "keeps-something"


def test_only_functions_have_copies():
    assert afresh(3) is afresh(len) is afresh(torch_module()) is None


def torch_module():
    from torch import nn

    return nn.Linear
