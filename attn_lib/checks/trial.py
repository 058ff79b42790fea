"""A task's inputs for one seed, with what the reference and the known mistakes make of them.

Only what is asked for is computed, and it is kept: a second check of the same task is quicker, and
the tests, which judge every mistake against every other, take half the time.
"""

from functools import cache, lru_cache

import torch

from attn_lib.checks.observe import Outcome, observe, walled_off
from attn_lib.checks.task import Task, find_task


class Trial:
    """The cases of one task and seed, and the outcomes on them, by the number of the case."""

    def __init__(self, task: Task, seed: int):
        self.task = task
        with walled_off():
            self.cases = list(task.make_cases(torch.Generator().manual_seed(seed)))
        self.expected = cache(self._expected)
        self.mistaken = cache(self._mistaken)

    def _expected(self, case: int, *, gradients: bool = False) -> Outcome:
        """What the reference does."""
        return observe(self.task.reference, self.cases[case], gradients=gradients)

    def _mistaken(self, mistake: int, case: int) -> Outcome:
        """What a known mistake does."""
        return observe(self.task.mistakes[mistake].answer, self.cases[case])


@lru_cache(maxsize=32)
def trial_of(name: str, seed: int) -> Trial:
    """Return the trial of a task for a seed.

    Raises:
        ValueError: there is no task of that name.
    """
    return Trial(find_task(name), seed)
