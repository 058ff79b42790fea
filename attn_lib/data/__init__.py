"""Data of the lessons: the small example, and real texts, series and pictures."""
