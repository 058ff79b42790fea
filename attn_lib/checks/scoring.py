"""The second face of the checks, for tasks that try known answers or score in steps.

Unlike `authoring`, it is never shown to a learner's code while it is graded.
"""

from attn_lib.checks.mistakes import known
from attn_lib.checks.observe import Outcome, walled_off
from attn_lib.checks.trial import Trial
from attn_lib.checks.verdict import Verdict

__all__ = ["Outcome", "Trial", "Verdict", "known", "walled_off"]
