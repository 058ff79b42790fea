"""Programs to run: the command `attention-from-scratch`, a chat, a small HTTP service, data-parallel training."""
