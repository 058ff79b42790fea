"""The tasks of lesson 05, in the order of its exercise."""
