"""The tasks of lesson 04, in the order of its exercise."""
