"""Programs to run: a chat, a small HTTP service, data-parallel training."""
