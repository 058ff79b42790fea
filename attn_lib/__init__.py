"""Attention from Scratch: the course's reference library."""
