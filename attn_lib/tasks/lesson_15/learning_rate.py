"""The task `learning_rate`: up in a line, down along half a cosine."""

import math

import torch

from attn_lib.checks.authoring import Case, task
from attn_lib.tasks.lesson_15.runs import rates


@task(
    lesson=15,
    points=2,
    insight="Two lines of arithmetic decide how large every step of the training is.",
    hints=[
        "Three parts: before `warmup`, between `warmup` and `total`, and after it. Draw them for warmup 2 and total 6, "
        "and write the number at each step.",
        "On the way up, the share of the way is step over warmup. On the way down it begins at 0 when the warmup ends, and "
        "is 1 at `total`: how many steps is that way long? Later it stays 1.",
        "The cosine of 0 is 1, of π it is -1. What do you add, and by what do you divide, to go from 1 to 0? That share of "
        "the distance between peak and floor lies above the floor. With warmup 0 there is no way up to divide by.",
    ],
)
def learning_rate(step, warmup, total, peak, floor):
    rising = step < warmup
    rise = step / max(warmup, 1)
    up = peak * rise
    passed = step - warmup
    length = total - warmup
    share = min(passed / length, 1.0)
    cosine = math.cos(math.pi * share)
    height = (1 + cosine) / 2
    down = floor + (peak - floor) * height
    rate = up if rising else down
    return rate


@learning_rate.cases
def _(rng):
    def case(warmup, total, peak, floor, last=None, tolerance=1e-5):
        """All steps up to the last one."""
        steps = list(range((total + 3 if last is None else last) + 1))
        args = (steps, warmup, total, peak, floor)
        return Case("every step from 0 on", args, rates, grad=False, tolerance=tolerance)

    yield case(2, 6, 1.0, 0.0)
    yield case(2, 6, 1.0, 0.2)
    yield case(1, 4, 1.0, 0.0, tolerance=6e-7)  # what float32 rounds is smaller
    yield case(0, 4, 1.0, 0.1)
    yield case(3, 4, 2.0, 0.5)
    yield case(4, 8, 0.001, 0.0001)
    yield case(0, 1, 1.0, 0.0)
    yield case(5, 25, 3e-4, 3e-5, last=70)
    yield case(10, 14, 0.5, 0.25)
    yield case(7, 20, 1.0, 1.0)
    yield case(0, 9, 6, 2)
    yield case(2, 6, 5000.0, 20.0)
    yield case(2, 6, 1e-9, 2e-10)
    warmup, rest = (int(torch.randint(3, 12, (), generator=rng)) for _ in range(2))
    peak, low = torch.rand(2, generator=rng).tolist()
    yield case(warmup, warmup + rest, peak + 0.1, low * peak)
    far = [51000, 0, 1, 10**7, 1999, 2000, 2001, 51234, 76543, 99999, 100000, 100001]
    about, args = "a long run, its steps in any order", (far, 2000, 100000, 6e-4, 6e-5)
    yield Case(about, args, rates, grad=False, tolerance=1e-5)


learning_rate.rows("""
What is your rate at step 0, and at step `warmup`? At which step does it reach the peak?
    peak-one-step-early  rise = (step + 1) / max(warmup, 1)
    peak-one-step-early  rise = step / max(warmup - 1, 1)
    peak-one-step-early  rise = min((step + 1) / max(warmup, 1), 1.0)
    peak-one-step-early  rise = (step + 1) / max(warmup, 1) ; rising = step + 1 < warmup
    peak-one-step-late  rise = step / (warmup + 1) || (step + 1) / (warmup + 1)
    peak-one-step-late  rising = step <= warmup ; rise = step / (warmup + 1)
Steps are counted from 0. Which is the first step in yours, and at which one does the peak come?
    counted-from-one  rising = step + 1 < warmup ; rise = (step + 1) / max(warmup, 1) ; passed = step + 1 - warmup
    counted-from-one  rising = step + 1 <= warmup ; rise = (step + 1) / max(warmup, 1) ; passed = step + 1 - warmup
    counted-from-one  rising = step + 1 < warmup ; rise = (step + 1) / max(warmup, 1) ; passed = step + 1 - warmup ; down = peak * height
With warmup 0, what do you divide by on the way up?
    warmup-of-zero  rise = step / warmup
    warmup-of-zero  rise = step / warmup ; rising = step <= warmup
With warmup 0, what should the rate be at step 0? On which side of your comparison is the step that equals `warmup`?
    warmup-of-zero-begins-at-zero  rising = step <= warmup
With warmup 0 there is no way up. Is there a way down?
    no-way-down-without-warmup  rate = peak if warmup == 0 else up if rising else down
    no-way-down-without-warmup  rate = peak if warmup < 1 else up if rising else down
    no-way-down-without-warmup  share = min(passed / length, 1.0) if warmup else 0.0
Where is the way up? What is the rate at step 0?
    no-warmup  rising = False || False ; share = min(max(passed / length, 0.0), 1.0)
    no-warmup  up = peak
    no-warmup  rising = False ; passed = step ; length = total
From where does the warmup start, from 0 or from the floor?
    warmup-from-the-floor  up = floor + (peak - floor) * rise || max(floor, peak * rise)
The way up is a line. Which share of it is behind you at half of the warmup?
    warmup-is-no-line  up = peak * rise**2 || peak * rise**0.5 || peak * (1 - math.cos(math.pi * rise)) / 2
    warmup-is-no-line  up = peak * math.sin(math.pi / 2 * rise)
The peak is where the way up ends. Is it a factor in both halves of yours?
    peak-forgotten  up = rise
    peak-forgotten  down = floor + height || height || floor + (1 - floor) * height
The way down begins at `warmup`, and ends at `total`. How many steps is it long, and how many of them are behind you?
    cosine-over-the-total  passed = step || step ; length = total
    cosine-over-the-total  length = total
    cosine-over-the-total  length = total ; share = passed / length
    cosine-over-the-total  passed = step ; length = total ; share = passed / length
    cosine-over-the-total  passed = step ; length = total + warmup
    cosine-over-the-total  length = total + warmup
    cosine-over-the-total  length = total ; rate = floor if step >= total else up if rising else down
Where is the share of the way 0, and where is it 1? Count the steps from one end to the other.
    way-down-one-step-off  length = total - warmup - 1 or 1 || total - warmup + 1
    way-down-one-step-off  length = total - warmup - 1 or 1 ; rate = floor if step >= total else up if rising else down
    way-down-one-step-off  length = total - warmup + 1 ; rate = floor if step >= total else up if rising else down
    way-down-one-step-off  passed = step - warmup + 1 || step - warmup - 1
A cosine goes up again. What holds the rate at the floor after `total`?
    rises-again  share = passed / length
    rises-again  share = passed / length % 1.0
After `total` the rate stays where it is. Is it 0 there, in yours?
    zero-after-the-end  rate = 0.0 if step > total else up if rising else down
    zero-after-the-end  rate = 0.0 if step >= total else up if rising else down
    peak-after-the-end  rate = peak if step > total else up if rising else down
What is `0.0 or 1e-4` in Python? Which floor do you use if 0 is given?
    floor-of-zero-not-taken  down = (floor or peak / 10) + (peak - (floor or peak / 10)) * height
    floor-of-zero-not-taken  down = (floor or peak / 100) + (peak - (floor or peak / 100)) * height
What is the rate at `total`, and how far is it from there to the peak?
    floor-ignored  down = peak * height
    floor-ignored  down = peak * height ; rate = floor if step > total else up if rising else _
    floor-ignored  down = peak * height ; rate = floor if step >= total else up if rising else _
    floor-is-a-barrier  down = max(floor, peak * height)
    floor-added-on-top  down = floor + peak * height
    floor-added-on-top  rate = _ + floor
    floor-added-on-top  down = floor + (peak + floor) * height
    floor-added-on-top  down = (peak - floor) * height
What is the cosine at the beginning and at the end of the way down? What makes 1 and 0 of that?
    cosine-not-shifted  height = cosine || cosine / 2 || abs(cosine)
    cosine-not-halved  height = 1 + cosine || 1 + cosine / 2
    upside-down  height = (1 - cosine) / 2
    upside-down  height = (1 - cosine) / 2 ; rate = floor if step >= total else up if rising else down
    upside-down  cosine = math.cos(math.pi + math.pi * share)
    upside-down  down = peak - (peak - floor) * height
The way down is half a wave. How much of one is yours?
    other-part-of-the-wave  cosine = math.cos(2 * math.pi * share) || math.cos(math.pi / 2 * share)
    other-part-of-the-wave  cosine = math.cos(2 * math.pi * share) ; share = passed / length
    other-part-of-the-wave  cosine = math.cos(math.pi * share / 2) ; height = cosine
    other-part-of-the-wave  cosine = math.cos(2 * math.pi * share) ; rate = floor if step >= total else up if rising else down
    other-part-of-the-wave  cosine = math.cos(math.pi / 2 * share) ; rate = floor if step >= total else up if rising else down
    other-part-of-the-wave  cosine = math.cos(share) || math.sin(math.pi * share)
Does `math.cos` count in degrees or in radians?
    degrees  cosine = math.cos(180 * share) || math.cos(math.degrees(math.pi * share))
The middle of the way down: is it steeper there than at its ends? Where is your cosine?
    no-cosine  height = 1 - share || (1 - share) ** 2 || (1 - share) ** 0.5 || math.exp(-5 * share)
    no-cosine  height = 1.0 || 1 - share**2
    no-cosine  down = peak * (floor / peak) ** share
What does `//` do that `/` does not?
    share-floored  share = min(passed // length, 1.0)
    share-floored  rise = step // max(warmup, 1)
    share-floored  passed = (step - warmup) // 1 ; length = max((total - warmup) // 2, 1)
Which of the two ways is for small steps?
    ways-swapped  rate = down if rising else up
    ways-swapped  rising = step > warmup || step >= warmup
A rate is a number. What do you return?
    no-number  return = (rate, step) || str(rate) || [rate] || (up, down)
    rounded  return = round(rate) || int(rate) || round(rate, 3) || round(rate, 4)
What is your rate at step `warmup`? Is the peak a factor in all that you return?
    relative-to-the-peak  return = rate / peak
The way up ends, and the way down begins. Does yours take the smaller of both, their product, or one after the other?
    ways-mixed  rate = up * down || (up + down) / 2
    ways-mixed  rate = min(up, down) || max(up, down)
`warmup` is a number of steps. Where do you take it for a share of all steps?
    warmup-as-a-share  rising = step < warmup * total ; rise = step / max(warmup * total, 1)
On the way up, which of line and cosine counts? Is it always the smaller one?
    smaller-of-both  rate = min(peak * step / warmup, floor + (peak - floor) * (1 + math.cos(math.pi * min(passed / length, 1.0))) / 2) if warmup else down
""")

learning_rate.drills(
    "upside-down, rises-again, floor-added-on-top, cosine-not-halved 1, warmup-from-the-floor, "
    "cosine-over-the-total 2, warmup-of-zero, peak-one-step-early, floor-is-a-barrier, "
    "warmup-of-zero-begins-at-zero, other-part-of-the-wave 3"
)
