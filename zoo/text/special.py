"""The four token ids that every vocabulary of the zoo shares, and what stands around a text."""

from typing import NamedTuple

PAD = 0  # fills a row up to the static length of its batch
UNK = 1  # a character the vocabulary does not hold
BOS = 2  # first decoder input
EOS = 3  # last token of every source and of every label sequence


class Around(NamedTuple):
    """The token ids that stand around the own ones of every text, as ids of a language do; both count as read."""

    before: tuple[int, ...] = ()
    after: tuple[int, ...] = (EOS,)

    def put(self, ids):
        """The ids of a text with these around them."""
        return [*self.before, *ids, *self.after]

    @property
    def size(self):
        """The number of both."""
        return len(self.before) + len(self.after)


AROUND = Around()
