"""The tasks `fix_1` to `fix_5`: answers to tasks of earlier lessons, with rows of theirs written into them."""

from typing import NamedTuple

from attn_lib.checks.authoring import Row, Task, find_task, repair
from attn_lib.checks.scoring import known
from attn_lib.tasks.lesson_02.masked_attention import masked_attention
from attn_lib.tasks.lesson_03.split_heads import split_heads
from attn_lib.tasks.lesson_04.cached_attention import cached_attention
from attn_lib.tasks.lesson_04.grouped_query_attention import grouped_query_attention
from attn_lib.tasks.lesson_05.next_token_loss import next_token_loss


class Planted(NamedTuple):
    """The rows that are written into a right answer: by their ids."""

    task: Task
    rows: dict[str, Row]


PLANTED = {
    "fix_1": Planted(
        split_heads,
        {"split-interleaved-channels": {"cut": "x.reshape(B, L, D, num_heads).mT"}},
    ),
    "fix_2": Planted(masked_attention, {"scale-by-the-wrong-size": {"D": "v.shape[-1]"}}),
    "fix_3": Planted(
        grouped_query_attention, {"heads-tiled": {"which": "torch.arange(H) % Hkv"}}
    ),
    "fix_4": Planted(
        cached_attention, {"mask-top-left": {"allowed": "S - L => 0 if L > 1 else S"}}
    ),
    "fix_5": Planted(
        next_token_loss,
        {
            "pad-id-fixed": {"real": "targets != 0"},
            "count-off-by-one": {"divisor": "count + 1"},
        },
    ),
}

_POINTS = {"fix_1": 1, "fix_2": 1, "fix_3": 1, "fix_4": 2, "fix_5": 2}

_HINTS = {
    "fix_1": [
        "The shape is right, and so is the set of numbers. What else can you know before you run it? Give it "
        "numbers that tell where they come from: `torch.arange`.",
        "Print head 0 of one token with the channels 0 to 5, for two heads. Which three should be there?",
        "When the last axis is cut in two, neighbors stay together in the second of the two new axes. Which "
        "should that be: heads, or places within a head?",
    ],
    "fix_2": [
        "It agrees with PyTorch's own on many inputs. Which sizes have those in common? Try six different "
        "ones.",
        "Which line gives another number when only the width of the values changes? Should it?",
        "The scores are divided by the root of a width. Of the vectors that meet in a dot product, or of those "
        "that are mixed?",
    ],
    "fix_3": [
        "With one key/value head it is right, and with as many as query heads, too. Try what is between.",
        "Print `which` for H = 6 and Hkv = 2. Who reads head 0?",
        "Neighboring query heads share one key/value head: 0, 0, 0, 1, 1, 1. How does your line get there "
        "from 0 to 5?",
    ],
    "fix_4": [
        "It is right for a whole text at once, and it is right token by token. How else can a text come?",
        "Compare one call of 6 tokens with two calls of 3. Which query goes wrong, and what does it see?",
        "Print `allowed` in the second call. The last query sees the last key: on which diagonal does the "
        "triangle end, counted from the sizes L and S?",
    ],
    "fix_5": [
        "Make a batch so small that you know the loss: which number do you expect for one guess among V tokens "
        "with equal logits?",
        "Try another `pad_id` than 0. Then try sentences without any pad, and compare with "
        "`F.cross_entropy`.",
        "Who says which id is a pad? And if nothing is real, 0/0 has to be kept away: from that case, without a "
        "change in all others.",
    ],
}

for _name, (_task, _rows) in PLANTED.items():
    repair(_name, _task, _rows, lesson=12, points=_POINTS[_name], hints=_HINTS[_name])


def broken(name: str) -> str:
    """Return the source of what is to be repaired: the right answer, with the planted rows in it."""
    mistakes = known(find_task(name).name).mistakes
    planted = PLANTED[name].rows.items()
    rows = [
        next(n for n, m in enumerate(mistakes) if (m.id, m.lines) == row) for row in planted
    ]
    return known(name).sources(*rows)[0]
