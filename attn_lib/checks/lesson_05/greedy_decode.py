"""The task `greedy_decode`: write token after token, always the likeliest, until every row ended."""

import torch

import attn_lib
from attn_lib.checks.case import Case
from attn_lib.checks.lesson_05.fake_model import FakeModel, hashed
from attn_lib.checks.lesson_05.runs import decoded
from attn_lib.checks.task import task


@task(
    lesson=5,
    points=4,
    hints=[
        "Begin with a column of `bos_id`. Then the same again and again: ask `step`, choose, append. "
        "What must you give to `step` each time, the newest token or everything?",
        "The logits are (B, L, V). Which position says what comes next? Over which axis do you take "
        "the largest? What you append is a column, (B, 1).",
        "Some rows end earlier. Keep a boolean tensor (B,) of rows that have ended, and never forget "
        "one: what do you append for those, whatever the model says? And when may you stop?",
    ],
)
def greedy_decode(step, batch_size, bos_id, eos_id, max_len):
    return attn_lib.greedy_decode(step, batch_size, bos_id, eos_id, max_len)


@greedy_decode.cases
def _(rng):
    def integer(high):
        return int(torch.randint(high, (), generator=rng))

    def case(about, lengths, V, bos_id, eos_id, max_len, **logits):
        """One row for each length: so many tokens, then eos; None = without end."""
        others = [t for t in range(V) if t not in (bos_id, eos_id)]
        script = []
        for length in lengths:
            row: list[int] = []
            while len(row) < (max_len + 6 if length is None else length):
                token = others[integer(len(others))]
                if row[-1:] != [token]:  # so that each position says something else
                    row.append(token)
            script.append(row if length is None else [*row, eos_id])
        return told(about, script, V, bos_id, eos_id, max_len, **logits)

    def told(about, script, V, bos_id, eos_id, max_len, **logits):
        following = {
            hashed(row, (bos_id, *tokens[:n])): token
            for row, tokens in enumerate(script)
            for n, token in enumerate(tokens)
        }
        by_hash = dict(sorted(following.items()))
        model = FakeModel(len(script), by_hash, V, bos_id, eos_id, **logits)
        args = (model, len(script), bos_id, eos_id, max_len)
        return Case(about, args, decoded, grad=False)

    one = "one row, for which the model writes 4, 5, and then eos"
    yield told(one, [[4, 5, 2]], 6, 1, 2, 4)
    two = "two rows: the model writes 3, eos in the first, and 5, 4, 3, eos in the second"
    yield told(two, [[3, 2], [5, 4, 3, 2]], 6, 1, 2, 5)
    no_end = "two rows, and the model writes 4, 5, 4, 5, ... without an end"
    yield told(no_end, [[4, 5] * 5, [5, 4] * 5], 6, 1, 2, 3)
    again = "the model writes a token again and again, and bos in the middle"
    yield told(again, [[4, 4, 1, 4, 2], [3, 3, 1, 1, 3, 3, 3]], 6, 1, 2, 7)
    yield case("rows that end at different times", [2, 5, 1, 3], 11, 1, 2, 8)
    yield case("the first row ends last", [5, 1, 3], 10, 3, 7, 9)
    yield case("one row ends at once, one never", [3, 0, None], 9, 2, 0, 6)
    yield case("every row ends at once", [0, 0, 0], 7, 0, 6, 5)
    yield case("no row ends", [None, None, None, None], 9, 8, 3, 6)
    yield case("eos comes as the last token", [4, 4], 8, 0, 1, 5)
    yield case("eos would come one token too late", [5, 2, None], 8, 0, 1, 5)
    yield case("max_len 1", [None, 0, None], 7, 1, 2, 1)
    yield case("max_len 2", [1, None, 0], 7, 4, 0, 2)
    yield case("batch 1", [4], 9, 5, 8, 7)
    yield case("batch 1, 18 tokens without an end", [None], 9, 0, 4, 18)
    yield case("B = V", [2, None, 3, 1, 0, None], 6, 1, 5, 4)
    yield case("B = V = max_len", [3, None, 0, 1, 4], 5, 0, 2, 5)
    yield case("B = max_len", [1, None, 3, 2], 9, 0, 1, 4)
    yield case("all logits near -200", [3, None, 1], 8, 6, 5, 5, shift=-200.0)
    close = {"shift": 200.0, "spread": 0.1}
    yield case("all logits near 200, close together", [2, 4, None], 8, 3, 0, 6, **close)
    yield case("1200 tokens to choose from", [3, 2], 1200, 1, 1199, 5)


# ------------------------------------------------------------------------------- mistakes


def _start(batch_size, bos_id):
    return torch.full((batch_size, 1), bos_id), torch.zeros(batch_size, dtype=torch.bool)


def _loop(
    step, batch_size, bos_id, eos_id, max_len,
    *,
    choose=lambda logits: logits[:, -1].argmax(-1),
    fill=None,
    enough=lambda ended, newest: ended.all(),
    shown=lambda ids: ids,
):  # fmt: skip
    """Decode with one step replaced; return all ids, bos included."""
    ids, ended = _start(batch_size, bos_id)
    for _ in range(max_len):
        newest = choose(step(shown(ids)))
        newest = newest.masked_fill(ended, eos_id if fill is None else fill)
        ids = torch.cat([ids, newest[:, None]], dim=1)
        ended = ended | (newest == eos_id)
        if enough(ended, newest):
            break
    return ids


@greedy_decode.mistake(
    "only-the-last-token-shown",
    "The model reads everything that was written. How much of it do you give to `step`?",
)
def _(step, batch_size, bos_id, eos_id, max_len):
    shown = {"shown": lambda ids: ids[:, -1:]}
    return _loop(step, batch_size, bos_id, eos_id, max_len, **shown)[:, 1:]


@greedy_decode.mistake(
    "first-position",
    "The logits at position 0 say what follows bos. Which position says what follows the newest token?",
)
def _(step, batch_size, bos_id, eos_id, max_len):
    def choose(logits):
        return logits[:, 0].argmax(-1)

    return _loop(step, batch_size, bos_id, eos_id, max_len, choose=choose)[:, 1:]


@greedy_decode.mistake(
    "last-row-instead-of-last-position",
    "The axes of the logits are (B, L, V). Which of them does `[-1]` index?",
)
def _(step, batch_size, bos_id, eos_id, max_len):
    def choose(logits):
        return logits[-1].argmax(-1)

    return _loop(step, batch_size, bos_id, eos_id, max_len, choose=choose)[:, 1:]


@greedy_decode.mistake(
    "argmax-over-positions",
    "A token is one of V. Which axis of (B, L, V) does your argmax look along?",
)
def _(step, batch_size, bos_id, eos_id, max_len):
    def choose(logits):
        return logits.argmax(1)[:, -1]

    return _loop(step, batch_size, bos_id, eos_id, max_len, choose=choose)[:, 1:]


@greedy_decode.mistake(
    "argmax-over-rows",
    "Do the rows compete with each other, or the tokens? Which axis of (B, V) does your argmax look along?",
)
def _(step, batch_size, bos_id, eos_id, max_len):
    def choose(logits):
        return logits[:, -1].argmax(0)

    return _loop(step, batch_size, bos_id, eos_id, max_len, choose=choose)[:, 1:]


@greedy_decode.mistake(
    "argmax-without-an-axis",
    "What does `argmax()` return without a `dim`: one number, or one for each row?",
)
def _(step, batch_size, bos_id, eos_id, max_len):
    def choose(logits):
        return logits[:, -1].argmax().expand(batch_size)

    return _loop(step, batch_size, bos_id, eos_id, max_len, choose=choose)[:, 1:]


@greedy_decode.mistake(
    "sampled-instead-of-greedy",
    "Call it twice with the same model. Is the answer the same? What does greedy mean?",
)
def _(step, batch_size, bos_id, eos_id, max_len):
    def choose(logits):
        return logits[:, -1].softmax(-1).multinomial(1)[:, 0]

    return _loop(step, batch_size, bos_id, eos_id, max_len, choose=choose)[:, 1:]


@greedy_decode.mistake(
    "least-likely-token", "Is a large logit a likely token, or an unlikely one?"
)
def _(step, batch_size, bos_id, eos_id, max_len):
    def choose(logits):
        return logits[:, -1].argmin(-1)

    return _loop(step, batch_size, bos_id, eos_id, max_len, choose=choose)[:, 1:]


@greedy_decode.mistake(
    "logit-instead-of-its-place",
    "What do you append: the largest logit, or the place where it stands?",
)
def _(step, batch_size, bos_id, eos_id, max_len):
    ids, _ = _start(batch_size, bos_id)
    for _ in range(max_len):
        ids = torch.cat([ids, step(ids)[:, -1].amax(-1, keepdim=True)], dim=1)
    return ids[:, 1:]


@greedy_decode.mistake(
    "ended-rows-go-on",
    "What does the model say about a row that has ended? Who stops that row?",
)
def _(step, batch_size, bos_id, eos_id, max_len):
    ids, ended = _start(batch_size, bos_id)
    for _ in range(max_len):
        newest = step(ids)[:, -1].argmax(-1)
        ids = torch.cat([ids, newest[:, None]], dim=1)
        ended |= newest == eos_id
        if ended.all():
            break
    return ids[:, 1:]


@greedy_decode.mistake(
    "ended-rows-go-on",
    "All rows at once will hardly say eos. Who remembers the rows that have ended before?",
)
def _(step, batch_size, bos_id, eos_id, max_len):
    ids, _ = _start(batch_size, bos_id)
    for _ in range(max_len):
        newest = step(ids)[:, -1].argmax(-1)
        ids = torch.cat([ids, newest[:, None]], dim=1)
        if (newest == eos_id).all():
            break
    return ids[:, 1:]


def _naive(step, batch_size, bos_id, max_len):
    """Write max_len tokens without a thought of eos; return all ids, bos included."""
    ids, _ = _start(batch_size, bos_id)
    for _ in range(max_len):
        ids = torch.cat([ids, step(ids)[:, -1:].argmax(-1)], dim=1)
    return ids


@greedy_decode.mistake(
    "eos-ignored",
    "The model writes eos_id when a row is done. Where does your loop notice it?",
)
def _(step, batch_size, bos_id, eos_id, max_len):
    return _naive(step, batch_size, bos_id, max_len)[:, 1:]


@greedy_decode.mistake(
    "eos-ignored",
    "The model writes eos_id when a row is done. Where does your loop notice it?",
)
def _(step, batch_size, bos_id, eos_id, max_len):
    return _naive(step, batch_size, bos_id, max_len - 1)


@greedy_decode.mistake(
    "stops-when-any-row-ends", "One row has ended. Have the others? `any`, or `all`?"
)
def _(step, batch_size, bos_id, eos_id, max_len):
    def enough(ended, newest):
        return ended.any()

    return _loop(step, batch_size, bos_id, eos_id, max_len, enough=enough)[:, 1:]


@greedy_decode.mistake(
    "first-row-decides", "Your loop stops when row 0 has ended. And the rows below it?"
)
def _(step, batch_size, bos_id, eos_id, max_len):
    def enough(ended, newest):
        return newest[0] == eos_id

    return _loop(step, batch_size, bos_id, eos_id, max_len, enough=enough)[:, 1:]


@greedy_decode.mistake(
    "forgets-who-ended",
    "Two tokens after its eos, does your loop still know that this row has ended?",
)
def _(step, batch_size, bos_id, eos_id, max_len):
    ids, ended = _start(batch_size, bos_id)
    for _ in range(max_len):
        said = step(ids)[:, -1].argmax(-1)
        ids = torch.cat([ids, said.masked_fill(ended, eos_id)[:, None]], dim=1)
        ended = said == eos_id
    return ids[:, 1:]


@greedy_decode.mistake(
    "filled-with-zeros", "What should stand after the end of a row: 0, or eos_id?"
)
def _(step, batch_size, bos_id, eos_id, max_len):
    return _loop(step, batch_size, bos_id, eos_id, max_len, fill=0)[:, 1:]


@greedy_decode.mistake(
    "filled-with-zeros", "What should stand after the end of a row: 0, or eos_id?"
)
def _(step, batch_size, bos_id, eos_id, max_len):
    ids = _loop(step, batch_size, bos_id, eos_id, max_len)[:, 1:]
    return torch.nn.functional.pad(ids, (0, max_len - ids.shape[1]))


@greedy_decode.mistake(
    "filled-with-bos", "What should stand after the end of a row: bos_id, or eos_id?"
)
def _(step, batch_size, bos_id, eos_id, max_len):
    return _loop(step, batch_size, bos_id, eos_id, max_len, fill=bos_id)[:, 1:]


@greedy_decode.mistake(
    "max-len-ignored", "The model may never say eos. What ends your loop then?"
)
def _(step, batch_size, bos_id, eos_id, max_len):
    return _loop(step, batch_size, bos_id, eos_id, max_len + 1000)[:, 1:]


@greedy_decode.mistake(
    "max-len-ignored",
    "The rows may never say eos at the same time. What ends your loop then?",
)
def _(step, batch_size, bos_id, eos_id, max_len):
    ids, _ = _start(batch_size, bos_id)
    while True:
        newest = step(ids)[:, -1].argmax(-1)
        ids = torch.cat([ids, newest[:, None]], dim=1)
        if (newest == eos_id).all():
            return ids[:, 1:]


@greedy_decode.mistake(
    "bos-makes-it-too-long",
    "The column of bos_id counts. How many columns do you return: max_len, or one more?",
)
def _(step, batch_size, bos_id, eos_id, max_len):
    return _loop(step, batch_size, bos_id, eos_id, max_len)


@greedy_decode.mistake(
    "bos-makes-it-too-long",
    "The column of bos_id counts. How many columns do you return: max_len, or one more?",
)
def _(step, batch_size, bos_id, eos_id, max_len):
    return _naive(step, batch_size, bos_id, max_len)


@greedy_decode.mistake(
    "one-token-too-many", "How many tokens has your loop written when max_len is 1?"
)
def _(step, batch_size, bos_id, eos_id, max_len):
    return _loop(step, batch_size, bos_id, eos_id, max_len + 1)[:, 1:]


@greedy_decode.mistake(
    "one-token-too-few", "How many tokens has your loop written when max_len is 1?"
)
def _(step, batch_size, bos_id, eos_id, max_len):
    return _loop(step, batch_size, bos_id, eos_id, max_len - 1)[:, 1:]


@greedy_decode.mistake(
    "last-eos-missing",
    "The last row writes its eos, and your loop stops. Had it appended that eos before?",
)
def _(step, batch_size, bos_id, eos_id, max_len):
    ids, ended = _start(batch_size, bos_id)
    for _ in range(max_len):
        newest = step(ids)[:, -1].argmax(-1).masked_fill(ended, eos_id)
        ended = ended | (newest == eos_id)
        if ended.all():
            break
        ids = torch.cat([ids, newest[:, None]], dim=1)
    return ids[:, 1:]


@greedy_decode.mistake(
    "last-eos-missing",
    "The last row writes its eos, and your loop stops. Had it appended that eos before?",
)
def _(step, batch_size, bos_id, eos_id, max_len):
    ids, _ = _start(batch_size, bos_id)
    for _ in range(max_len):
        newest = step(ids)[:, -1].argmax(-1)
        if (newest == eos_id).all():
            break
        ids = torch.cat([ids, newest[:, None]], dim=1)
    return ids[:, 1:]


@greedy_decode.mistake(
    "ended-one-step-late",
    "A row writes its eos. What does your loop append in the very next step?",
)
def _(step, batch_size, bos_id, eos_id, max_len):
    ids, ended = _start(batch_size, bos_id)
    for _ in range(max_len):
        newest = step(ids)[:, -1].argmax(-1).masked_fill(ended, eos_id)
        ended = ended | (ids[:, -1] == eos_id)
        ids = torch.cat([ids, newest[:, None]], dim=1)
    return ids[:, 1:]


@greedy_decode.mistake(
    "newest-tokens-only", "What do you return: all tokens that were written, or the newest?"
)
def _(step, batch_size, bos_id, eos_id, max_len):
    return _loop(step, batch_size, bos_id, eos_id, max_len)[:, -1:]


@greedy_decode.mistake(
    "bos-forgotten", "Before anything is written, what does the model read?"
)
def _(step, batch_size, bos_id, eos_id, max_len):
    ids = torch.empty(batch_size, 0, dtype=torch.long)
    for _ in range(max_len):
        ids = torch.cat([ids, step(ids)[:, -1:].argmax(-1)], dim=1)
    return ids


@greedy_decode.mistake("begins-with-zeros", "With which id does every row begin?")
def _(step, batch_size, bos_id, eos_id, max_len):
    return _loop(step, batch_size, 0, eos_id, max_len)[:, 1:]


@greedy_decode.mistake("begins-with-eos", "With which id does every row begin?")
def _(step, batch_size, bos_id, eos_id, max_len):
    return _loop(step, batch_size, eos_id, eos_id, max_len)[:, 1:]


@greedy_decode.mistake(
    "batch-size-ignored", "How many rows do you begin with? Where do you use batch_size?"
)
def _(step, batch_size, bos_id, eos_id, max_len):
    return _loop(step, 1, bos_id, eos_id, max_len)[:, 1:]


@greedy_decode.mistake(
    "batch-axis-missing", "Which shape do your first ids have: (B,), or (B, 1)?"
)
def _(step, batch_size, bos_id, eos_id, max_len):
    return step(torch.full((batch_size,), bos_id))


@greedy_decode.mistake(
    "float-ids", "An id is a whole number. Which dtype do `torch.zeros` and `torch.ones` give?"
)  # fmt: skip
def _(step, batch_size, bos_id, eos_id, max_len):
    return step(torch.ones(batch_size, 1) * bos_id)


@greedy_decode.mistake(
    "grown-along-the-batch",
    "A new token makes the rows longer. Along which axis of (B, length) do you append it?",
)
def _(step, batch_size, bos_id, eos_id, max_len):
    ids, _ = _start(batch_size, bos_id)
    for _ in range(max_len):
        ids = torch.cat([ids, step(ids)[:, -1].argmax(-1)[:, None]], dim=0)
    return ids


@greedy_decode.mistake(
    "newest-token-not-a-column", "You append (B,) to (B, length). Which shape is a column?"
)  # fmt: skip
def _(step, batch_size, bos_id, eos_id, max_len):
    ids, _ = _start(batch_size, bos_id)
    for _ in range(max_len):
        ids = torch.cat([ids, step(ids)[:, -1].argmax(-1)], dim=1)
    return ids[:, 1:]


@greedy_decode.mistake(
    "every-position-appended",
    "By how many columns do your ids grow in one step? Which of the positions is new?",
)
def _(step, batch_size, bos_id, eos_id, max_len):
    ids, _ = _start(batch_size, bos_id)
    for _ in range(max_len):
        ids = torch.cat([ids, step(ids).argmax(-1)], dim=1)
    return ids[:, 1:]


@greedy_decode.mistake(
    "every-position-appended",
    "By how many columns do your ids grow in one step? Which of the positions is new?",
)
def _(step, batch_size, bos_id, eos_id, max_len):
    ids, _ = _start(batch_size, bos_id)
    for _ in range(max_len):
        ids = torch.cat([ids, step(ids).argmax(-1)], dim=1)
    return ids


@greedy_decode.mistake(
    "never-appended", "What does `step` read in its second call? Where do the ids grow?"
)
def _(step, batch_size, bos_id, eos_id, max_len):
    ids, ended = _start(batch_size, bos_id)
    written = []
    for _ in range(max_len):
        newest = step(ids)[:, -1].argmax(-1).masked_fill(ended, eos_id)
        ended = ended | (newest == eos_id)
        written.append(newest)
    return torch.stack(written, dim=1)
