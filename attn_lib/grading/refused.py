"""The error of everything that a teacher can mend."""


class Refused(ValueError):
    """What was asked for cannot be done; the message says why, to the teacher."""
