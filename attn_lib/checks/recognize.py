"""Recognize which known mistake an answer makes, or which two at once: by what it does.

First a single mistake that does the same on every input. Then two in one answer that do: tried on
the input shown first, where most combinations end. If nothing explains everything, a mistake that
does the same on some failing inputs, and contradicts the answer on none, is named with a hedge.
"""

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, islice
from typing import Any

import torch
from torch import Tensor

from attn_lib.checks.case import Case
from attn_lib.checks.compare import agreeing
from attn_lib.checks.observe import Outcome, Raised, named_tensors, walled_off
from attn_lib.checks.task import Mistake
from attn_lib.checks.trial import Trial

# How many pairs are tried: as many on a slow machine as on a quick one, or verdicts would differ.
PAIRS = 2000
# Of this thread's own time: only where each pair takes long, this comes first.
PAIR_SECONDS = 4.0
OTHER_DTYPE = Mistake(
    "dtype-changed", "Which dtype goes in, and which one comes out? Which should it be?", {}
)
NOT_BOOLEAN = Mistake(
    "not-boolean",
    "Print the dtype of your result. Which one do `~mask` and `masked_fill` need?",
    {},
)
MANY = 4  # different wrong numbers in a result
FEW = 6  # failing inputs, on which a mistake is sought that does not explain everything


@dataclass(frozen=True)
class Recognized:
    """A mistake that was recognized.

    Attributes:
        mistake: what the answer does on the input that is to be shown.
        case: the number of that input.
        second: what else it does, if that was recognized too.
        is_all: whether this explains every input; if not, something else waits behind it.
        is_sure: whether it explains all inputs of the common dtypes.
    """

    mistake: Mistake
    case: int
    second: Mistake | None = None
    is_all: bool = True
    is_sure: bool = True


def recognize(
    tried: Trial, outcomes: list[Outcome], failing: list[int]
) -> Recognized | None:
    """Find the known mistake, or the two, that explain what an answer does.

    Args:
        tried: the task's cases, with what the mistakes do on them.
        outcomes: what the answer does on each case.
        failing: the numbers of the cases that it fails, the one to be shown first.
    """
    with walled_off():
        search = _Search(tried, outcomes, failing)
        found = search.all_of_it()
        if found is not None and found.is_all:
            return found
        anew = [recast(got, tried.expected(i)) for i, got in enumerate(outcomes)]
        if any(new is not old for new, old in zip(anew, outcomes, strict=True)):
            wrong = [i for i in failing if not _is_right(tried, anew[i], i)]
            is_boolean = any(_is_boolean(v) for v in tried.expected(search.shown).values)
            other_dtype = NOT_BOOLEAN if is_boolean else OTHER_DTYPE
            if not wrong:
                return found or Recognized(other_dtype, search.shown)
            other = _Search(tried, anew, wrong).all_of_it()
            if other is not None and other.second is None:
                both = other.mistake, other_dtype
                if anew[other.case] is not outcomes[other.case]:
                    both = both[::-1]  # the dtype is what is said there
                other = replace(other, mistake=both[0], second=both[1])
            if other is not None:
                return other
        return found or search.part_of_it()


def _is_right(tried: Trial, got: Outcome, i: int) -> bool:
    return alike(tried.expected(i), got, tried.cases[i].tolerance)


class _Search:
    def __init__(self, tried: Trial, outcomes: list[Outcome], failing: list[int]):
        self.tried, self.outcomes, self.failing = tried, outcomes, failing
        self.mistakes = tried.known.mistakes
        ids = [mistake.id for mistake in self.mistakes]
        self.rank = [ids[:m].count(id) for m, id in enumerate(ids)]
        everything = [*failing, *(i for i in range(len(outcomes)) if i not in failing)]
        self.all = sorted(everything, key=lambda i: tried.cases[i].is_slow)
        self.plain = [i for i in self.all if is_plain(tried.cases[i])]
        self.quick = [i for i in failing if not tried.cases[i].is_slow]
        self.shown = failing[0]
        self.may_raise = any(tried.expected(i).error for i in self.all)

    def all_of_it(self) -> Recognized | None:
        """Find a mistake, or two, that explain every input; else all but those of rare dtypes."""
        plain_pair = None
        if (m := self._one(self.all)) is not None:
            return Recognized(self.mistakes[m], self.shown)
        raises = self.outcomes[self.shown].error is not None
        for pair in self._pairs():
            # So many pairs raise something there that only the same words tell them apart.
            if raises and not self._proves(pair, self.shown):
                continue
            if self._explains(pair, self.all):
                return self._ask(pair, is_all=True)
            if plain_pair is None and self._explains(pair, self.plain):
                plain_pair = pair
        if (m := self._one(self.plain)) is not None:
            return Recognized(self.mistakes[m], self.shown, is_all=False)
        return self._ask(plain_pair, is_all=False) if plain_pair else None

    def part_of_it(self) -> Recognized | None:
        """Find a mistake that explains at least half of the first few failing inputs, or the one shown.

        It contradicts the answer nowhere. On the input shown, no other mistake does the same. Of two
        that explain as much, it is the one that would be seen on fewer of the others.
        """
        among = self.quick[:FEW]
        same = {m: self._same(m, among) for m in range(len(self.mistakes))}
        same = {m: found for m, found in same.items() if found and not self._contradicts(m)}
        most = max(same, key=lambda m: (len(same[m]), -self._spread(m)), default=None)
        if (
            most is not None
            and 2 * len(same[most]) >= len(among)
            and self._is_much(self._same(most, self.quick))
        ):
            return Recognized(
                self.mistakes[most], same[most][0], is_all=False, is_sure=False
            )
        here = [self.mistakes[m] for m, found in same.items() if self.shown in found]
        if len({mistake.id for mistake in here}) == 1 and self._tells(self.shown):
            return Recognized(here[0], self.shown, is_all=False, is_sure=False)
        return None

    def _same(self, m: int, among: list[int]) -> list[int]:
        """Return the inputs, of some, on which an answer does what a mistake does, and no accident is."""
        return [i for i in among if self._agree((m,), i) and self._proves((m,), i)]

    def _one(self, among: list[int]) -> int | None:
        """Return the number of the mistake that explains some inputs.

        Of two errors of one class, it is the one that has the same words on the input shown.
        """
        other = None
        for m in range(len(self.mistakes)):
            if self._explains((m,), among):
                if self._proves((m,), self.shown):
                    return m
                other = m if other is None else other
        return other

    def _pairs(self) -> Iterator[tuple[int, int]]:
        """Yield pairs that do the same as the answer on one failing input, among the likeliest ones.

        The input is one of the smallest few, and first that on which the fewest mistakes can be seen.
        """
        numbers = range(len(self.mistakes))
        seen = {i: [m for m in numbers if self._is_visible(m, i)] for i in self.quick[:3]}
        end = time.thread_time() + PAIR_SECONDS
        composing = (c for c in self._candidates(seen) if self.tried.known.compose(*c[1:]))
        for place, a, b in islice(composing, PAIRS):
            if time.thread_time() > end:
                return
            if self._agree((a, b), place):
                yield a, b

    def _candidates(self, seen: dict[int, list[int]]) -> Iterator[tuple[int, int, int]]:
        """Yield failing inputs and pairs that may explain what is seen there, the likeliest first.

        Args:
            seen: the mistakes that can be seen on each of some failing inputs.
        """
        raises = {i: self.outcomes[i].error is not None for i in seen}
        numbers = range(len(self.mistakes))
        hidden = {i: [m for m in numbers if m not in seen[i]] for i in seen}
        places = sorted(seen, key=lambda i: (raises[i], len(seen[i])))
        for place in places:
            # What raises an error alone does so beside another mistake, and what does not, does not.
            errors = {m for m in seen[place] if self.tried.mistaken((m,), place).error}
            seen[place] = [m for m in seen[place] if raises[place] or m not in errors]
            # All is the work of one here; the other is seen where the first does not explain it.
            alone = (m for m in seen[place] if self._agree((m,), place))
            for a in sorted(alone, key=self._spread):
                elsewhere = next((i for i in self.all if not self._agree((a,), i)), place)
                yield from (
                    (place, a, b) for b in hidden[place] if self._is_visible(b, elsewhere)
                )
            for a, b in sorted(combinations(seen[place], 2), key=self._is_rarer):
                if not raises[place] or a in errors or b in errors:
                    yield place, a, b
        for place in places:  # what is seen only beside something else
            yield from ((place, a, b) for a in seen[place] for b in hidden[place])

    def _is_rarer(self, pair: tuple[int, int]) -> int:
        """Return a key to sort pairs by: the first row of each mistake comes before all further ones."""
        return sum(self.rank[m] for m in pair)

    def _ask(self, pair: tuple[int, int], *, is_all: bool) -> Recognized:
        """Ask about the mistake that explains the input shown, or at least the kind of its result,
        or else the most of the number that is shown.

        If both do as much, about the one that comes first in the answer.
        """
        known, got = self.tried.known, self.outcomes[self.shown]
        want = self.tried.expected(self.shown)

        def is_farther(m: int) -> tuple[bool, bool, float, int]:
            alone = self.tried.mistaken((m,), self.shown)
            return (
                not self._agree((m,), self.shown),
                _outline(alone) != _outline(got),
                _gap(want, got, alone),
                known.first_line(m),
            )

        first, second = sorted(pair, key=is_farther)
        asked, behind = self.mistakes[first], self.mistakes[second]
        is_same = asked.id == behind.id  # made twice: one question leads out of both
        return Recognized(asked, self.shown, None if is_same else behind, is_all)

    def _explains(self, numbers: tuple[int, ...], among: list[int]) -> bool:
        """Say whether mistakes do the same as the answer on some inputs.

        At least one wrong result must be shared, or an error to the word: two answers that only
        fail on the same inputs prove nothing.
        """
        proved = False
        for i in among:
            if not self._agree(numbers, i):
                return False
            proved = proved or self._proves(numbers, i)
        return proved

    def _agree(self, numbers: tuple[int, ...], i: int) -> bool:
        theirs = self.tried.mistaken(numbers, i)
        return alike(theirs, self.outcomes[i], self.tried.cases[i].tolerance)

    def _proves(self, numbers: tuple[int, ...], i: int) -> bool:
        """Say whether agreement on this input is no accident."""
        if i not in self.failing:
            return False
        theirs, got = self.tried.mistaken(numbers, i), self.outcomes[i]
        if got.error is not None:
            if theirs.error is None:
                return False
            is_chosen = self.may_raise and got.error.kind == "ValueError"
            if self.tried.expected(i).error or is_chosen:  # its words are one's own
                return True
            return _same_error(theirs.error, got.error)
        return got.is_sequence == theirs.is_sequence

    def _is_visible(self, m: int, i: int) -> bool:
        """Say whether a mistake makes a difference on an input."""
        theirs, right = self.tried.mistaken((m,), i), self.tried.expected(i)
        return not alike(theirs, right, self.tried.cases[i].tolerance)

    def _spread(self, m: int) -> int:
        """Return on how many of the first few failing inputs a mistake can be seen."""
        return sum(self._is_visible(m, i) for i in self.quick[:FEW])

    def _is_much(self, same: list[int]) -> bool:
        """Say whether agreement on these inputs is no accident: small ones, made by hand, agree soon."""
        return len(same) > 1 and sum(map(self._evidence, same)) >= 2 * MANY

    def _tells(self, i: int) -> bool:
        """Say whether what an answer does on one input can hardly be an accident."""
        got = self.outcomes[i]
        if got.error is not None:
            return got.error.is_wrong or self.tried.expected(i).error is not None
        return self._evidence(i) >= MANY

    def _evidence(self, i: int) -> int:
        """Count the different numbers among the wrong ones of an input; of two whole ones, one may be chance."""
        want, got = self.tried.expected(i), self.outcomes[i]
        if got.error is not None or _is_text(got):
            return MANY
        count = 0
        for right, mine in zip(want.values, got.values, strict=False):
            if not _are_ordinary(mine):
                continue
            wrong = mine.flatten()
            if _are_ordinary(right) and right.shape == mine.shape:
                wrong = mine[~agreeing(right, mine)]
            wrong = wrong[wrong.isfinite()]
            different = wrong.unique().numel()
            count += different if _are_floats(mine) else different // 2
        return count

    def _contradicts(self, m: int) -> bool:
        """Say whether the answer is right somewhere where the mistake would be seen."""
        right = (i for i in self.all if i not in self.failing)
        return any(self._is_visible(m, i) for i in right)


def _same_error(one: Raised, other: Raised) -> bool:
    """Say whether two errors of one class are one.

    They are if their first lines are the same to the word (further lines may say how much), or both are
    that of a None where a tensor should be.
    """
    first, second = (error.text.partition("\n")[0] for error in (one, other))
    return first == second or ("NoneType" in one.text and "NoneType" in other.text)


def _outline(outcome: Outcome) -> list[Any]:
    """Return what can be told of an outcome without its numbers: the error's kind, shapes and dtypes."""
    if outcome.error is not None:
        return [outcome.error.kind]
    return [
        (v.shape, v.dtype) if isinstance(v, Tensor) else type(v) for v in outcome.values
    ]


def _gap(want: Outcome, got: Outcome, other: Outcome) -> float:
    """Return how far another outcome is from this one, at the first number that is wrong here."""
    for right, mine, theirs in zip(want.values, got.values, other.values, strict=False):
        three = right, mine, theirs
        if not _are_ordinary(*three) or len({v.shape for v in three}) > 1:
            continue
        if (wrong := ~agreeing(right, mine)).any():
            gap = abs(mine[wrong][0].item() - theirs[wrong][0].item())
            return math.inf if math.isnan(gap) else gap
    return 0.0


def recast(got: Outcome, want: Outcome) -> Outcome:
    """Return an outcome with the dtypes that were wanted; itself, if it has them.

    Floats of another dtype are cast, and so are the numbers 0 and 1 where booleans were wanted. A value
    that is right in all the digits that its dtype has is what was wanted.
    """
    if len(got.values) != len(want.values):
        return got

    def recast(v: Tensor, w: Tensor) -> Tensor:
        return w if same_value(w.to(v.dtype), v, None) else v.to(w.dtype)

    def may(v: Any, w: Any) -> bool:
        if not _are_ordinary(v, w):
            return False
        if _are_floats(v, w):
            return bool(v.dtype != w.dtype)
        return not _is_boolean(v) and _is_boolean(w) and bool(((v == 0) | (v == 1)).all())

    values = [
        recast(v, w) if may(v, w) else v
        for v, w in zip(got.values, want.values, strict=True)
    ]
    same = all(new is old for new, old in zip(values, got.values, strict=True))
    return got if same else replace(got, values=values)


def _are_ordinary(*values: Any) -> bool:
    """Say whether these are tensors whose numbers can be looked at, one by one.

    Those of quantized tensors, and of floats of 8 bits or less, cannot.
    """
    return all(
        isinstance(v, Tensor)
        and not v.is_nested
        and v.layout == torch.strided
        and not v.is_meta
        and not v.is_quantized
        and not (v.is_floating_point() and v.itemsize < 2)
        for v in values
    )


def _are_floats(*values: Any) -> bool:
    return all(isinstance(v, Tensor) and v.is_floating_point() for v in values)


def _is_boolean(value: Any) -> bool:
    return isinstance(value, Tensor) and value.dtype == torch.bool


def _is_text(outcome: Outcome) -> bool:
    return any(isinstance(value, str) for value in outcome.values)


def is_plain(case: Case) -> bool:
    """Say whether a case has no floats but float32."""
    return float_dtypes(case) <= {torch.float32}


def float_dtypes(case: Case) -> set[torch.dtype]:
    """Return the dtypes of the float tensors among a case's arguments."""
    tensors = named_tensors(case.args).values()
    return {tensor.dtype for tensor in tensors if tensor.is_floating_point()}


def is_half(case: Case) -> bool:
    """Say whether a case has floats of two bytes."""
    return bool(float_dtypes(case) & {torch.float16, torch.bfloat16})


def alike(a: Outcome, b: Outcome, tolerance: float | None) -> bool:
    """Say whether two answers, right or wrong, did the same on one input."""
    if a.error or b.error:
        return bool(a.error and b.error and a.error.kind == b.error.kind)
    if len(a.values) != len(b.values):
        return False
    return all(same_value(x, y, tolerance) for x, y in zip(a.values, b.values, strict=True))


def same_value(x: Any, y: Any, tolerance: float | None) -> bool:
    """Say whether two results, right or wrong, are the same."""
    if not isinstance(x, Tensor) or not isinstance(y, Tensor):
        if isinstance(x, float) and isinstance(y, float):
            return math.isclose(x, y, rel_tol=1e-4) or (math.isnan(x) and math.isnan(y))
        # A list of tensors must not be asked whether it is another one.
        return type(x) is type(y) and (not isinstance(x, int | str) or x == y)
    if x.is_nested or y.is_nested:  # they have no shape
        return x.is_nested and y.is_nested
    if (x.shape, x.dtype, x.device, x.layout) != (y.shape, y.dtype, y.device, y.layout):
        return False
    if not _are_ordinary(x, y):
        return True
    finite = x.isfinite()
    if not finite.equal(y.isfinite()):
        return False
    # Which of nan and inf it is depends on the order of steps.
    return bool(agreeing(x[finite], y[finite], tolerance).all())
