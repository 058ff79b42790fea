"""Grade a class: a judge outside the learner's process, in a sandbox. See `python -m attn_lib.grading`."""
