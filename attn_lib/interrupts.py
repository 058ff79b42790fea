"""Ctrl-C while `python -m attn_lib.chat` and the like still import PyTorch: it ends them, without a traceback.

Importing this module begins that time, `raise_again` ends it.
"""

import signal
import sys

# While Python imports the package of a program, the program's name is still "-m".
STARTING = sys.argv[:1] == ["-m"]
STARTING &= signal.getsignal(signal.SIGINT) is signal.default_int_handler

if STARTING:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def raise_again() -> None:
    """Let Ctrl-C raise KeyboardInterrupt again, as Python has it."""
    if STARTING:
        signal.signal(signal.SIGINT, signal.default_int_handler)
