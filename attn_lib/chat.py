"""Door to the chat in attn_lib/programs/chat.py: python -m attn_lib.chat."""

from attn_lib.programs.chat import run

if __name__ == "__main__":
    run()
