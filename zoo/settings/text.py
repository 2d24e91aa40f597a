"""How texts become tokens, and which of them belong to no label."""

from typing import Annotated

from zoo.settings.declared import words
from zoo.settings.kinds import BelowOne, Count, Doc, NotNegative, Positive, Share
from zoo.settings.table import Table

Pieces = Annotated[
    words("text.tokenizer.MODEL_TYPES"),
    Doc("what a token is: subwords by unigram or BPE, characters, or what white space separates"),
]
Normalization = Annotated[
    words("text.charsmaps.NAMES"),
    Doc("Unicode normal form; _cf folds case, nfd takes accents apart, identity is none; invisible marks are removed"),
]
Words = Annotated[
    words("text.words.RULES"),
    Doc("how a text is cut into words in use: at spaces, at punctuation, too, or by the rules of the Penn Treebank"),
]
VocabSize = Annotated[Positive, Doc("size of the vocabulary, at most")]


class Vocabulary(Table):
    """One vocabulary, learnt from the training texts alone."""

    vocab_size: VocabSize = 4_000
    pieces: Pieces = "unigram"
    normalization: Normalization = "nmt_nfkc"
    character_coverage: Annotated[Share, Doc("share of characters with a piece of their own")] = 1.0
    byte_fallback: Annotated[bool, Doc("whether other characters are spelt as bytes, and not unknown")] = False


class Verbatim(Table):
    """The vocabulary of a language model, whose texts are kept as they are."""

    vocab_size: VocabSize = 4_000
    pieces: Pieces = "unigram"
    character_coverage: Annotated[Share, Doc("share of characters with a piece of their own")] = 1.0
    byte_fallback: Annotated[bool, Doc("whether other characters are spelt as bytes, and not unknown")] = False

    @property
    def normalization(self):
        """None but "identity", so that what is generated is what was read."""
        return "identity"


class Target(Table):
    """The vocabulary of the answers."""

    vocab_size: VocabSize = 4_000
    pieces: Pieces = "unigram"
    normalization: Normalization = "nmt_nfkc"


class TwoSided(Vocabulary):
    """A vocabulary for the source, and one for the target; or one for both."""

    target: Annotated[Target | None, Doc("the target's own vocabulary, where it is not shared")] = None
    shared: Annotated[bool, Doc("whether source and target have one vocabulary")] = False
    joiner: Annotated[
        str, Doc("mark between pieces into which the files are cut already, such as '@@ '; removed before scoring")
    ] = ""

    @classmethod
    def unread(cls, value_of):
        """The target's own settings, where it has none."""
        return {"target": "source and target share one vocabulary"} if value_of("shared") else {}

    @property
    def answers(self):
        """The target's own settings."""
        return self.target or Target()


class Noise(Table):
    """Changes of the texts in training."""

    candidates: Annotated[Positive, Doc("spellings of a word among which training draws; 1: no drawing")] = 1
    rare: Annotated[Count, Doc("words that come more often than this are not drawn; 0: all are")] = 0
    alpha: Annotated[NotNegative, Doc("exponent of their probabilities in the drawing; 0: all are equally likely")] = (
        0.3
    )
    dropout: Annotated[BelowOne, Doc("share of the tokens that training hides")] = 0.0

    @classmethod
    def unread(cls, value_of):
        """What decides between the spellings of a word, where there is one."""
        why = "it is read where candidates is at least 2; received candidates=1"
        return dict.fromkeys(("rare", "alpha"), why) if value_of("candidates") == 1 else {}


class Read(Vocabulary):
    """The vocabulary of texts to label."""

    max_input_length: Annotated[Count, Doc("first tokens of a text that are read; 0: all")] = 512


class Labelled(Vocabulary):
    """The vocabulary of texts to classify, which training may change."""

    max_input_length: Annotated[Count, Doc("first tokens of a text that are read; 0: all")] = 512
    noise: Annotated[Noise, Doc("changes of the texts in training")] = Noise()

    @classmethod
    def unread(cls, value_of):
        """The drawing of spellings, where the pieces have no probabilities to draw by."""
        return _undrawn(value_of("pieces"))


class Cut(Vocabulary):
    """The vocabulary of texts whose words are labelled; in training data the words are cut already."""

    max_input_length: Annotated[Count, Doc("first tokens of a text that are read; 0: all")] = 512
    noise: Annotated[Noise, Doc("changes of the texts in training")] = Noise()
    words: Words = "spaces"

    @classmethod
    def unread(cls, value_of):
        """As of `Labelled`."""
        return _undrawn(value_of("pieces"))


def _undrawn(pieces):
    """What nothing reads of the noise in texts of such pieces, and why."""
    if pieces == "unigram":
        return {}
    why = f"it is read where pieces is 'unigram'; received pieces={pieces!r}"
    return dict.fromkeys(("noise.candidates", "noise.rare", "noise.alpha"), why)


class Scope(Table):
    """What a classifier does with texts that are out of its scope (Larson et al. 2019)."""

    label: Annotated[str, Doc('label of the texts out of scope, such as "oos"; without it there are none')] = ""
    threshold: Annotated[
        bool, Doc("whether validation chooses a probability of the likeliest label below which a text is out of scope")
    ] = True
    trained: Annotated[bool, Doc("whether the label is learnt like the others, from texts of the training")] = False

    @classmethod
    def unread(cls, value_of):
        """The other settings, where nothing is out of scope."""
        why = "it is read where label names the texts that are out of scope; received label=''"
        return {} if value_of("label") else dict.fromkeys(("threshold", "trained"), why)

    @property
    def chosen(self):
        """Whether a threshold is chosen."""
        return bool(self.label) and self.threshold

    def check(self):
        if self.label and not (self.threshold or self.trained):
            raise ValueError(
                f"no text would ever be {self.label!r}: set threshold=true, trained=true, or both; received neither."
            )
