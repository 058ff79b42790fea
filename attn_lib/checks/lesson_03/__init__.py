"""The tasks of lesson 03, in the order of its exercise."""
