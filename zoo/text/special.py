"""The four token ids that every vocabulary of the zoo shares."""

PAD = 0  # fills a row up to the static length of its batch
UNK = 1  # a character the vocabulary does not hold
BOS = 2  # first decoder input
EOS = 3  # last token of every source and of every label sequence
