"""The task `greedy_decode`: write token after token, always the likeliest, until every row ended."""

from functools import partial

import torch

import attn_lib
from attn_lib.checks.authoring import Case, task
from attn_lib.tasks.lesson_05.fake_model import FakeModel, hashed
from attn_lib.tasks.lesson_05.runs import decoded, with_step


@task(
    lesson=5,
    points=4,
    insight="The likeliest token each time is not always the likeliest text. That would take a search.",
    library=attn_lib.greedy_decode,
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
    start = torch.full((batch_size, 1), bos_id)
    nobody = torch.zeros(batch_size, dtype=torch.bool)
    ids, ended = start, nobody
    rounds = max_len
    filler = eos_id
    for _ in range(rounds):
        shown = ids
        logits = step(shown)  # (B, L, V)
        last = logits[:, -1]
        chosen = last.argmax(-1)
        newest = chosen.masked_fill(ended, filler)
        column = newest[:, None]
        grown = torch.cat([ids, column], dim=1)
        over = ended | (newest == eos_id)
        done = over.all()
        ids, ended = grown, over
        if done:
            break
    written = ids[:, 1:]
    return written


@greedy_decode.cases
def _(rng):
    def case(about, lengths, V, bos_id, eos_id, max_len, **logits):
        """One row for each length: so many tokens, then eos; None = without end."""
        others = [t for t in range(V) if t not in (bos_id, eos_id)]
        script = []
        for length in lengths:
            row: list[int] = []
            while len(row) < (max_len + 6 if length is None else length):
                token = others[int(torch.randint(len(others), (), generator=rng))]
                if row[-1:] != [token]:  # so that each position says something else
                    row.append(token)
            script.append(row if length is None else [*row, eos_id])
        return told(about, script, max_len, V, bos_id, eos_id, **logits)

    def told(about, script, max_len, V=6, bos_id=1, eos_id=2, **logits):
        following = {
            hashed(row, (bos_id, *tokens[:n])): token
            for row, tokens in enumerate(script)
            for n, token in enumerate(tokens)
        }
        by_hash = dict(sorted(following.items()))
        model = FakeModel(len(script), by_hash, V, bos_id, eos_id, max_len, **logits)
        args = (None, len(script), bos_id, eos_id, max_len)
        rules = partial(decoded, model)
        return Case(about, args, with_step, grad=False, serves=model, finish=rules)

    yield told("one row, for which the model writes 4, 5, and then eos", [[4, 5, 2]], 4)
    two = "two rows: the model writes 3, eos in the first, and 5, 4, 3, eos in the second"
    yield told(two, [[3, 2], [5, 4, 3, 2]], 5)
    no_end = "two rows, and the model writes 4, 5, 4, 5, ... without an end"
    yield told(no_end, [[4, 5] * 5, [5, 4] * 5], 3)
    again = "the model writes a token again and again, and bos in the middle"
    yield told(again, [[4, 4, 1, 4, 2], [3, 3, 1, 1, 3, 3, 3]], 7)
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
    yield case("all logits near -200", [3, None, 1], 8, 6, 5, 5, shift=-200.0)
    close = {"shift": 200.0, "spread": 0.1}
    yield case("all logits near 200, close together", [2, 4, None], 8, 3, 0, 6, **close)
    yield case("1200 tokens to choose from", [3, 2], 1200, 1, 1199, 5)
    far = {"shift": -1e10, "spread": 1e6}
    yield case("all logits near -10,000,000,000", [3, None, 1], 8, 6, 5, 5, **far)
    close = {"shift": 1.0, "spread": 1e-3}
    yield case("all logits near 1, less than 0.01 apart", [2, 4, None], 8, 3, 0, 6, **close)


greedy_decode.rows("""
The model reads everything that was written so far. What do you give to `step` in its second call?
    only-the-last-token-shown  shown = ids[:, -1:]
    only-the-last-token-shown  shown = start ; done = False
Before anything is written, what does the model read? With which id does every row begin?
    bos-forgotten  start = torch.empty(batch_size, 0, dtype=torch.long)
    bos-forgotten  start = torch.zeros(batch_size, 1, dtype=torch.long) || bos_id => eos_id
Which dtype and which shape have your first ids: how many rows, how many columns?
    start-of-another-kind  start = batch_size => 1 || torch.full((batch_size,), bos_id)
    start-of-another-kind  start = torch.ones(batch_size, 1) * bos_id
The axes of the logits are (B, L, V). Which of all logits say what follows the newest token, and
which do you take?
    another-position  last = logits[:, 0] || logits[-1] || logits.mean(1) || logits.amax(1)
A token is one of V, for each row. Along which axis of the logits, (B, L, V), does your argmax look?
    argmax-over-another-axis  chosen = logits.argmax(1)[:, -1]
    argmax-over-another-axis  column = logits.argmax(1)
    argmax-over-another-axis  column = logits.argmax(1) ; done = False
    argmax-over-another-axis  chosen = last.argmax(0) || last.argmax().expand(batch_size)
Which of the V tokens does greedy mean? Call it twice with the same model: which ones do you get?
    not-the-likeliest  chosen = last.softmax(-1).multinomial(1)[:, 0] || last.argmin(-1)
What do you append: the largest logit, or the place where it stands?
    logit-instead-of-its-place  chosen = last.amax(-1) || last.amax(-1).long()
Which shape has what you append to the ids, (B, length)? Along which axis do they grow, by how much?
    another-column-appended  grown = dim=1 => dim=0
    another-column-appended  grown = dim=1 => dim=0 ; done = False
    another-column-appended  column = newest || logits.argmax(-1)
    another-column-appended  column = logits.argmax(-1) ; done = False
    another-column-appended  column = logits.argmax(-1) ; done = False ; written = ids
Which column of your ids holds bos_id, and which was written last? Which ones do you return?
    other-columns-returned  written = ids[:, -1:] || ids[:, :-1] || ids[:, 1:-1]
What does the model say about a row that has ended? Who remembers that, and stops the row?
    ended-rows-go-on  newest = chosen
    ended-rows-go-on  newest = chosen ; done = (newest == eos_id).all()
Some rows have ended. How many rows do you give to `step` then, and how many does it know?
    fewer-rows-shown  shown = ids[~ended]
Before the first call of `step`, which rows have ended? And which rows are filled up in your code?
    all-have-ended  nobody = zeros => ones
    all-have-ended  newest = chosen.masked_fill(~ended, filler)
    all-have-ended  over = ended | (newest != eos_id)
How often does your code call `step`? Is there a loop, and what ends it so soon?
    one-step-only  rounds = 1
    one-step-only  over = ended | (ids[:, -1] == bos_id)
Which id ends a row, and with which one do you compare?
    ends-at-another-id  over = eos_id => bos_id || eos_id => 0 || _ | (newest == bos_id)
A row that ended three steps ago: how often does eos_id stand in it? And what do you count before you
stop?
    eos-counted-again  done = (grown == eos_id).sum() >= batch_size
    eos-counted-again  done = (grown == eos_id).sum() == batch_size
The model writes eos_id when a row is done. Where does your code notice it?
    eos-ignored  newest = chosen ; done = False
    eos-ignored  newest = chosen ; done = False ; rounds = max_len - 1 ; written = ids
Two tokens after its eos, does your loop still know that this row has ended?
    forgets-who-ended  over = chosen == eos_id
    forgets-who-ended  over = chosen == eos_id ; done = False
A row writes its eos. What does your loop append in the very next step?
    ended-one-step-late  over = ended | (ids[:, -1] == eos_id)
What stands after the end of a row in your result, and what should?
    filled-with-zeros  filler = 0 || bos_id || -1
    filled-with-zeros  written = _.masked_fill((_ == eos_id).cumsum(1) > 1, 0)
    filled-with-zeros  written = F.pad(_.masked_fill((_ == eos_id).cumsum(1) > 1, 0), (0, max_len - _.shape[1]))
    filled-with-zeros  written = F.pad(_, (0, max_len - _.shape[1]))
    filled-with-zeros  written = F.pad(_, (0, max_len - _.shape[1]), value=bos_id)
A row ends with an eos_id. How many of your rows have one?
    eos-itself-replaced  written = _.masked_fill(_ == eos_id, 0)
    eos-itself-replaced  written = F.pad(_.masked_fill(_ == eos_id, 0), (0, max_len - _.shape[1]))
    eos-itself-replaced  written = _.masked_fill(_ == eos_id, bos_id)
    eos-itself-replaced  written = _.masked_fill(_ == eos_id, -1)
One row has ended. Have the others? Which of them does your loop ask before it stops?
    stops-when-any-row-ends  done = over.any() || over[0] || over[-1]
`if`, `or` and `not` ask for one yes or no. How many rows does your tensor answer for? Which method
makes one answer of them, and which operator keeps one for each?
    many-rows-in-one-condition  done = newest == eos_id
    many-rows-in-one-condition  over = ended or newest == eos_id
The last row writes its eos, and your loop stops. Had it appended that eos before?
    last-eos-missing  grown = ids if (ended | (newest == eos_id)).all() else _
    last-eos-missing  newest = chosen ; grown = ids if (chosen == eos_id).all() else _ ; over = chosen == eos_id
The model may never say eos, or not to all rows at a time. What ends your loop then?
    max-len-ignored  rounds = max_len + 1000
    max-len-ignored  rounds = max_len + 1000 ; newest = chosen ; done = (newest == eos_id).all()
The column of bos_id counts. How many columns do you return: max_len, or one more?
    bos-makes-it-too-long  written = ids
    bos-makes-it-too-long  newest = chosen ; done = False ; written = ids
How many tokens has your loop written when max_len is 1?
    one-token-off  rounds = max_len + 1 || max_len - 1
What do you return: one tensor of integers, with a row for each sentence?
    other-than-ids  written = _.tolist() || _.float() || _.flatten() || _.T || (_, over)
The first ids are a column: a row for each sentence. How many rows have yours?
    start-lies-down  start = torch.full((1, batch_size), bos_id)
What you append is a column, (B, 1), and who has ended is (B,). Which shape comes out where the two meet?
    column-meets-row  chosen = last.argmax(-1, keepdim=True) ; column = newest
What does `step` return, one tensor or several things? What do you take from it with `[0]`?
    step-taken-apart  logits = step(shown)[0]
""")

greedy_decode.drills(
    "logit-instead-of-its-place, stops-when-any-row-ends, another-column-appended, another-position 1, "
    "start-of-another-kind 2, one-token-off 1, only-the-last-token-shown, all-have-ended 1, filled-with-zeros, "
    "forgets-who-ended, ended-one-step-late, column-meets-row"
)
