"""A recipe: everything that decides a training, as checked settings."""

import dataclasses
import difflib
from typing import Literal, get_args

Pieces = Literal["unigram", "bpe", "char", "word"]
READ_BY = {  # which models read which data
    "dates": ("seq2seq", "transformer"),
    "reversal": ("seq2seq", "transformer"),
    "parallel": ("seq2seq", "transformer"),
    "text": ("language_model",),
    "duplication": ("language_model",),
    "trec": ("classifier",),
    "sst": ("classifier",),
    "sst5": ("classifier",),
    "babi": ("classifier",),
    "tagged": ("tagger",),
}
LAYERED = ("transformer", "language_model", "classifier", "tagger")
ANY_ATTENTION = ("multi_head", "lsh", "multi_linear")
ANY_DEPTH = ("stack", "reversible", "universal")
NOTHING = ("none",)
SLOTS = {  # what a slot of a model may hold; the first where the recipe does not say (`zoo.recipes.slots`)
    "attention": {
        "seq2seq": ("additive", "dot", "none"),
        "transformer": ANY_ATTENTION,
        "language_model": (*ANY_ATTENTION, "adaptive_span"),
        "classifier": ANY_ATTENTION,
        "tagger": ANY_ATTENTION,
    },
    "feedforward": {"seq2seq": NOTHING} | dict.fromkeys(LAYERED, ("dense", "chunked", "product_key")),
    "depth": {
        "seq2seq": NOTHING,
        "transformer": (*ANY_DEPTH, "depth_adaptive"),
        "language_model": ANY_DEPTH,
        "classifier": (*ANY_DEPTH, "star"),
        "tagger": (*ANY_DEPTH, "star"),
    },
    "positions": {
        "seq2seq": NOTHING,
        "transformer": ("sinusoidal",),
        "language_model": ("sinusoidal", "learned", "axial"),
        "classifier": ("sinusoidal", "convolutional", "concatenated"),
        "tagger": ("sinusoidal", "convolutional", "concatenated"),
    },
}
Normalization = Literal["nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Recipe:
    """The settings of one zoo entry; those without a default must be given."""

    name: str  # of the entry and of its file
    system: str  # the family that the catalogue lists it under
    task: str  # what it does, such as "de-en translation"
    description: str  # one sentence

    # Data
    data: Literal[*READ_BY]  # dates, reversal and duplication are generated
    source_language: str = ""  # file suffixes of a parallel corpus, such as "de"
    target_language: str = ""
    train_split: str = "train"
    valid_split: str = "valid"
    test_split: str = "test"
    train_size: int = 20_000  # of generated data
    valid_size: int = 500
    test_size: int = 2_000
    shortest: int = 3  # symbols of a sequence to reverse
    longest: int = 20  # the length of every one to duplicate
    babi_task: int = 1  # of the twenty of "babi"
    phrases: bool = False  # train on every phrase of the trees of "sst" and "sst5"

    # Text; models of one vocabulary take the source's settings
    source_vocab_size: int = 4_000
    target_vocab_size: int = 4_000
    source_pieces: Pieces = "unigram"
    target_pieces: Pieces = "unigram"
    source_normalization: Normalization = "nmt_nfkc"
    target_normalization: Normalization = "nmt_nfkc"  # "identity" keeps Chinese punctuation full width
    character_coverage: float = 1.0  # share of characters with a piece of their own
    byte_fallback: bool = False  # spell the other characters as bytes instead of unknown
    shared_vocabulary: bool = False  # one for source and target, with the source's settings
    joiner: str = ""  # what joins pieces that the files hold already, such as "@@ ": removed before scoring
    subword_candidates: int = 1  # spellings of a word that a labelled text draws from in training; 1: no drawing
    subword_rare: int = 0  # words that the training has more often keep their spelling; 0: none does
    subword_alpha: float = 0.3  # how much the drawing minds their probabilities
    token_dropout: float = 0.0  # share of a labelled text's tokens that training hides
    spelling: bool = False  # a labelled text's words are known by their ends and shape, too (`SpelledEmbedding`)
    spelling_alone: float = 0.0  # share of the pieces that training knows by their spelling alone
    sentences: int = 0  # a text to classify is read by sentences of at least so many tokens; 0: token by token

    # Model
    model: Literal["seq2seq", "transformer", "language_model", "classifier", "tagger"] = "seq2seq"
    units: int = 256
    num_layers: int = 1  # of the encoder, and of the decoder
    dropout: float = 0.0

    # of a recurrent one
    cell: Literal["simple_rnn", "gru", "gru_reset_before", "lstm"] = "gru"

    # The slots: a name of `SLOTS`, or a table of "layer", the name, and of the layer's own settings; "blocks" may list
    # the blocks, counted from 1, that have this attention or feed-forward layer
    attention: str | dict = ""
    feedforward: str | dict = ""
    depth: str | dict = ""
    positions: str | dict = ""

    # of layered models
    block: Literal["post_norm", "pre_norm", "macaron"] = "pre_norm"
    num_heads: int = 4
    hidden_units: int = 512  # of the feed-forward layers; Macaron's two have half each
    activation: Literal["relu", "gelu"] = "relu"
    context: int = 64  # tokens that a language model sees in training, and has learned positions for

    # Batches
    batch_size: int = 64
    num_buckets: int = 4  # static shapes, and so compiled programs, at most
    max_length: int = 60  # training pairs with more tokens on a side are dropped

    # Optimisation
    learning_rate: float = 1e-3  # the peak of the schedule
    schedule: Literal["constant", "inverse_sqrt", "linear", "cosine"] = "constant"
    warmup: int = 0
    adam_beta_2: float = 0.999
    row_learning_rate: float = 1e-3  # of the values of a product-key memory, constant
    weight_decay: float = 0.0  # of matrices; a step shrinks them by this times the learning rate
    clip_norm: float = 1.0  # of all gradients together; 0 does not clip
    label_smoothing: float = 0.0
    loss_chunks: int = 1  # parts of the time whose logits exist at once: less memory (a language model, a transformer)
    steps: int = 10_000
    validate_every: int = 500
    checkpoint_every: int = 500
    patience: int = 0  # validations without improvement; 0 never stops early
    average: int = 1  # best checkpoints to average
    judge: Literal["nll", "accuracy"] = "nll"  # what "best" means, on the validation split
    log_every: int = 50
    seed: int = 1

    # Search
    beam: int = 4
    alpha: float = 0.6  # length penalty
    max_output_length: int = 60

    def __post_init__(self):
        for field in dataclasses.fields(self):
            if field.name not in SLOTS:
                _check(field, getattr(self, field.name))
        if self.data == "parallel" and not (self.source_language and self.target_language):
            raise ValueError(
                f"recipe {self.name!r} reads a parallel corpus and so needs source_language and "
                f"target_language, received {self.source_language!r} and {self.target_language!r}."
            )
        if self.model not in READ_BY[self.data]:
            raise ValueError(
                f"recipe {self.name!r} gives {self.data!r} data to a {self.model}; expected one of the models "
                f"{', '.join(READ_BY[self.data])}."
            )
        if self.loss_chunks > 1 and self.model not in ("language_model", "transformer"):
            raise ValueError(f"loss_chunks is for a language_model or a transformer; the model is a {self.model}.")
        if self.sentences and (self.model != "classifier" or self.spelling):
            raise ValueError(
                f"recipe {self.name!r} reads texts by sentences, which a classifier does whose words are not spelled; "
                f"received sentences={self.sentences}, model={self.model!r}, spelling={self.spelling}. Set sentences "
                "to 0, or spelling to false and the model to 'classifier'."
            )
        for slot, choices in SLOTS.items():
            object.__setattr__(self, slot, _filled(slot, getattr(self, slot), choices[self.model], self.model))


FIELDS = {field.name: field for field in dataclasses.fields(Recipe)}


def _check(field, value):
    choices = get_args(field.type)
    if choices and value not in choices:
        raise ValueError(f"{field.name} must be one of {', '.join(choices)}; received {value!r}.")
    kind = str if choices else field.type
    if type(value) is not kind:
        raise ValueError(f"{field.name} must be {kind.__name__}, received {value!r} ({type(value).__name__}).")
    if kind in (int, float) and value < 0:
        raise ValueError(f"{field.name} must not be negative, received {value!r}.")


def _filled(slot, value, choices, model):
    """A slot's table, whose layer is said."""
    if not isinstance(value, str | dict):
        raise ValueError(f"{slot} must be the name of a layer or a table with its settings; received {value!r}.")
    table = {"layer": value or choices[0]} if isinstance(value, str) else {"layer": choices[0]} | value
    if table["layer"] not in choices:
        raise ValueError(f"{slot} of a {model} must be one of {', '.join(choices)}; received {table['layer']!r}.")
    return table


def make(settings):
    """A `Recipe` from a dict; whole numbers are taken for floats.

    Raises:
        ValueError: a key is unknown (the message names the nearest one) or missing, or a value is
            of the wrong type or not among the choices.
    """
    for key in settings:
        known(key)
    missing = [name for name, field in FIELDS.items() if field.default is dataclasses.MISSING and name not in settings]
    if missing:
        raise ValueError(f"the recipe lacks {', '.join(missing)}; received {sorted(settings)}.")
    return Recipe(
        **{
            key: float(value) if FIELDS[key].type is float and type(value) is int else value
            for key, value in settings.items()
        }
    )


def known(key):
    """Refuse a setting that no recipe has, and name the nearest one that it has."""
    if key not in FIELDS:
        raise ValueError(f"unknown setting {key!r}.{hint(key, FIELDS)} Known settings: {', '.join(FIELDS)}.")


def hint(name, names):
    """ " Did you mean ...?", or nothing where no name is like it."""
    nearest = difflib.get_close_matches(name, names, n=1, cutoff=0.4)
    return f" Did you mean {nearest[0]!r}?" if nearest else ""
