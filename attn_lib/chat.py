"""Door to the chat in attn_lib/programs/chat.py: python -m attn_lib.chat."""

import sys

if __name__ == "__main__":
    try:
        from attn_lib.programs.chat import main

        main()
    except KeyboardInterrupt:  # while the model loads, say
        sys.exit(130)
