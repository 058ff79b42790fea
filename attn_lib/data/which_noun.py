"""Pairs of sentences in which one word decides which of two nouns "it" is.

In the manner of the Winograd Schema Challenge (Levesque, Davis and Morgenstern, 2012), from which
those about the trophy, the truck and the fish are adapted. The others were written for this course.
"""

from typing import NamedTuple


class Pair(NamedTuple):
    """A sentence with a gap, {}: with the first word "it" is the first noun, with the second the second."""

    sentence: str
    nouns: tuple[str, str]
    words: tuple[str, str]

    def versions(self) -> list[str]:
        """Return the two sentences."""
        return [self.sentence.format(word) for word in self.words]


_ROWS = """
The trophy did not fit in the suitcase because it was too {}. | trophy suitcase | big small
The ball broke the window because it was so {}. | ball window | heavy thin
The truck passed the bus because it was so {}. | truck bus | fast slow
The fish ate the worm because it was {}. | fish worm | hungry small
The cat caught the mouse because it was very {}. | cat mouse | quick slow
The picture fell off the nail because it was too {}. | picture nail | heavy short
The coat did not cover the dress because it was too {}. | coat dress | short long
The car could not pull the boat because it was too {}. | car boat | weak heavy
The key did not fit the lock because it was too {}. | key lock | thick narrow
The rope could not hold the horse because it was too {}. | rope horse | thin strong
The bear did not fit in the cave because it was too {}. | bear cave | fat narrow
The knife did not cut the bread because it was too {}. | knife bread | blunt hard
The bag did not carry the stone because it was too {}. | bag stone | weak heavy
The blanket did not cover the bed because it was too {}. | blanket bed | small large
The dog could not catch the rabbit because it was too {}. | dog rabbit | slow fast
The ship could not pass the bridge because it was too {}. | ship bridge | tall low
The letter did not fit in the box because it was too {}. | letter box | long small
The ladder did not reach the roof because it was too {}. | ladder roof | short high
The lamp did not light the room because it was too {}. | lamp room | weak large
The shelf did not hold the book because it was too {}. | shelf book | weak heavy
The wall did not stop the water because it was too {}. | wall water | low deep
The table did not fit through the door because it was too {}. | table door | wide narrow
The wind broke the tree because it was so {}. | wind tree | strong old
The soup did not fill the bowl because it was too {}. | soup bowl | little big
"""


def which_noun() -> list[Pair]:
    """Return 24 pairs."""
    pairs = []
    for row in _ROWS.strip().splitlines():
        sentence, nouns, words = row.split(" | ")
        (first, second), (one, other) = nouns.split(), words.split()
        pairs.append(Pair(sentence, (first, second), (one, other)))
    return pairs
