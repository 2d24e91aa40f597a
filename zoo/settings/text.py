"""How texts become tokens, and which of them belong to no label."""

from typing import Annotated

from zoo.settings.declared import one_of
from zoo.settings.table import BelowOne, Count, Doc, NotNegative, Positive, Share, Table

Pieces = Annotated[
    one_of("text.tokenizer.MODEL_TYPES"),
    Doc("what a token is: subwords by unigram or BPE, characters, or what white space separates"),
]
Normalization = Annotated[
    one_of("text.tokenizer.NORMALIZATIONS"),
    Doc("Unicode normal form; _cf folds case, nfd takes accents apart, identity is none; invisible marks are removed"),
]
Words = Annotated[
    one_of("text.words.RULES"),
    Doc("how a text is cut into words in use: at spaces, at punctuation, too, or by the rules of the Penn Treebank"),
]
VocabSize = Annotated[Positive, Doc("size of the vocabulary, at most")]
CharacterCoverage = Annotated[Share, Doc("share of characters with a piece of their own")]
ByteFallback = Annotated[bool, Doc("whether other characters are spelt as bytes, and not unknown")]
MaxInputLength = Annotated[Count, Doc("first tokens of a text that are read; 0: all")]


class Vocabulary(Table):
    """One vocabulary, learnt from the training texts alone."""

    vocab_size: VocabSize = 4_000
    pieces: Pieces = "unigram"
    normalization: Normalization = "nmt_nfkc"
    character_coverage: CharacterCoverage = 1.0
    byte_fallback: ByteFallback = False


class Verbatim(Table):
    """The vocabulary of a language model, whose texts are kept as they are."""

    vocab_size: VocabSize = 4_000
    pieces: Pieces = "unigram"
    character_coverage: CharacterCoverage = 1.0
    byte_fallback: ByteFallback = False

    @property
    def normalization(self):
        """It is always "identity", so that texts are generated as they were read."""
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
        """The target's own settings are not read where it shares the source's vocabulary."""
        return {"target": "source and target share one vocabulary"} if value_of("shared") else {}

    @property
    def answers(self):
        """The settings of the target's own vocabulary."""
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
        """What decides between the spellings of a word is not read where there is one alone."""
        why = "it is read where candidates is at least 2; received candidates=1"
        return dict.fromkeys(("rare", "alpha"), why) if value_of("candidates") == 1 else {}


NoiseOfTraining = Annotated[Noise, Doc("changes of the texts in training")]


class Read(Vocabulary):
    """The vocabulary of texts to label."""

    max_input_length: MaxInputLength = 512


class Labelled(Vocabulary):
    """The vocabulary of texts to classify, which training may change."""

    max_input_length: MaxInputLength = 512
    noise: NoiseOfTraining = Noise()

    @classmethod
    def unread(cls, value_of):
        """The drawing of spellings is not read where pieces have no probabilities to draw by."""
        if (pieces := value_of("pieces")) == "unigram":
            return {}
        why = f"it is read where pieces is 'unigram'; received pieces={pieces!r}"
        return dict.fromkeys(("noise.candidates", "noise.rare", "noise.alpha"), why)


class Cut(Vocabulary):
    """The vocabulary of texts whose words are labelled; in training data the words are cut already."""

    max_input_length: MaxInputLength = 512
    noise: NoiseOfTraining = Noise()
    words: Words = "spaces"
    unread = Labelled.unread


class Scope(Table):
    """What a classifier does with texts that are out of its scope (Larson et al. 2019)."""

    label: Annotated[str, Doc('label of the texts out of scope, such as "oos"; without it there are none')] = ""
    threshold: Annotated[
        bool, Doc("whether validation chooses a probability of the likeliest label below which a text is out of scope")
    ] = True
    trained: Annotated[bool, Doc("whether the label is learnt like the others, from texts of the training")] = False

    @classmethod
    def unread(cls, value_of):
        """The other settings are not read where nothing is out of scope."""
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
