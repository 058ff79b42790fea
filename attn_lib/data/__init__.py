"""What the lessons work on: the small example, and real data."""
