"""The tasks of lesson 02, in the order of its exercise."""
