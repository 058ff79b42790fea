"""Answers to tasks, and what a learner who gives them is told."""

from unittest.mock import ANY

from attn_lib.checks import judge


def told(task, mistake, *words, status="wrong", second=ANY, unsaid=None, forward_of=None):
    """Make a test of an answer to a task.

    Args:
        task: its name.
        mistake: the one that is recognized, or None; ANY is any one.
        words: what the message says.
        status: of the verdict.
        second: the other mistake that is named.
        unsaid: what the message does not say.
        forward_of: the class of which the answer is the `forward`.
    """

    def make(answer):
        given = forward_of and type("Answer", (forward_of,), {"forward": answer})

        def test():
            verdict = judge(task, given or answer)
            assert (verdict.status, verdict.mistake) == (status, mistake), str(verdict)
            assert verdict.second == second
            assert bool(verdict.question) == bool(mistake)
            assert all(part in verdict.message for part in words), verdict.message
            assert unsaid is None or unsaid not in verdict.message

        return test

    return make
