"""A recipe: everything that decides a training, as checked settings."""

import dataclasses
import difflib
from typing import Literal, get_args

from zoo.recipes import kinds
from zoo.recipes.effects import useless
from zoo.recipes.layers import BLOCKS, SLOTS, WHY_NOT, own_settings
from zoo.recipes.mixes import wrong_mix, wrong_table

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
Normalization = Literal["nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"]
RANGES = {  # of numbers; the others must be at least 0
    **dict.fromkeys("train_size valid_size test_size shortest longest".split(), kinds.POSITIVE),
    **dict.fromkeys("source_vocab_size target_vocab_size subword_candidates".split(), kinds.POSITIVE),
    **dict.fromkeys("units num_layers num_heads hidden_units context".split(), kinds.POSITIVE),
    **dict.fromkeys("batch_size num_buckets loss_chunks beam max_output_length".split(), kinds.POSITIVE),
    **dict.fromkeys("steps validate_every checkpoint_every average log_every".split(), kinds.POSITIVE),
    **dict.fromkeys("dropout token_dropout spelling_alone label_smoothing adam_beta_2".split(), kinds.BELOW_ONE),
    "learning_rate": kinds.ABOVE_ZERO,
    "row_learning_rate": kinds.ABOVE_ZERO,
    "babi_task": kinds.Kind("a whole number from 1 to 20", lambda value: 1 <= value <= 20),
    "character_coverage": kinds.Kind("a number above 0 and at most 1", lambda value: 0 < value <= 1),
}


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
    max_input_length: int = 512  # tokens of a text to label that are read, the first ones; 0 reads all
    sentences: int = 0  # a text to classify is read by sentences of at least so many tokens; 0: token by token

    # Model
    model: Literal["seq2seq", "transformer", "language_model", "classifier", "tagger"] = "seq2seq"
    units: int = 256
    num_layers: int = 1  # of the encoder, and of the decoder
    dropout: float = 0.0

    # of a recurrent one
    cell: Literal["simple_rnn", "gru", "gru_reset_before", "lstm"] = "gru"

    # The slots: a name of `zoo.recipes.layers.SLOTS`, or a table of "layer", the name, and of the layer's own settings;
    # "blocks" may list the blocks, counted from 1, that have this attention or feed-forward layer
    attention: str | dict = ""
    feedforward: str | dict = ""
    depth: str | dict = ""
    positions: str | dict = ""

    # of layered models
    block: Literal[*BLOCKS] = "pre_norm"
    num_heads: int = 4
    hidden_units: int = 512  # of the feed-forward layers; Macaron's two have half each
    activation: Literal["relu", "gelu"] = "relu"
    context: int = 64  # tokens that a language model sees in training, and that a model has learned positions for

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
    monitor: Literal["nll", "accuracy"] = "nll"  # what "best" means, on the validation split
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
        for slot, choices in SLOTS.items():
            object.__setattr__(self, slot, _filled(slot, getattr(self, slot), choices[self.model], self.model))
        self._refuse_what_cannot_be_built()

    def _refuse_what_cannot_be_built(self):
        """Every setting has an effect, and all of them can stand together; see `effects` and `mixes`."""
        settings = vars(self)
        wrong = [message for slot in SLOTS if (message := wrong_table(slot, settings))]
        for name, why in {} if wrong else useless(settings, DEFAULTS).items():
            wrong.append(f"{name}={settings[name]!r} has no effect: {why}. Leave it out.")
        if not wrong and self.data == "reversal" and self.shortest > self.longest:
            wrong.append(f"shortest must be at most longest; received {self.shortest} and {self.longest}.")
        wrong += [message] if not wrong and (message := wrong_mix(settings)) else []
        if wrong:
            raise ValueError(f"recipe {self.name!r}: {' '.join(wrong)}")


RENAMED = {  # what files written before call these settings
    "judge": "monitor",
    "depth.judge": "depth.oracle",
    "depth.memory": "depth.activations",
}
FIELDS = {field.name: field for field in dataclasses.fields(Recipe)}
DEFAULTS = {name: field.default for name, field in FIELDS.items() if field.default is not dataclasses.MISSING}


def _check(field, value):
    choices = get_args(field.type)
    if choices and value not in choices:
        raise ValueError(f"{field.name} must be one of {', '.join(choices)}; received {value!r}.")
    kind = str if choices else field.type
    if type(value) is not kind:
        raise ValueError(f"{field.name} must be {kind.__name__}, received {value!r} ({type(value).__name__}).")
    if kind in (int, float) and value < 0:
        raise ValueError(f"{field.name} must not be negative, received {value!r}.")
    if field.name in RANGES and not RANGES[field.name].accepts(value):
        raise ValueError(f"{field.name} must be {RANGES[field.name].words}, received {value!r}.")


def _filled(slot, value, choices, model):
    """A slot's table, whose layer is said."""
    if not isinstance(value, str | dict):
        raise ValueError(f"{slot} must be the name of a layer or a table with its settings; received {value!r}.")
    table = {"layer": value or choices[0]} if isinstance(value, str) else {"layer": choices[0]} | value
    if table["layer"] not in choices:
        why = WHY_NOT.get(table["layer"])
        reason = f" The reason: {why}." if why else ""
        raise ValueError(
            f"{slot} of a {model} must be one of {', '.join(choices)}; received {table['layer']!r}.{reason}"
        )
    allowed = own_settings(slot, model, table["layer"])
    for name in table:
        if name != "layer" and name not in allowed:
            raise ValueError(
                f"{table['layer']!r}, its {slot}, has no setting {name!r}.{hint(name, allowed)} "
                f"It takes {', '.join(allowed) or 'none'}."
            )
    return table


def make(settings):
    """A `Recipe` from a dict; whole numbers are taken for floats.

    Raises:
        ValueError: a key is unknown (the message names the nearest one) or missing, or a value is
            of the wrong type or not among the choices.
    """
    settings = renamed(settings)
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


def completed(settings):
    """All settings of a recipe, defaults where there are others, with tables in the slots; not checked any further."""
    whole = DEFAULTS | settings
    for slot, choices in SLOTS.items():
        whole[slot] = _filled(slot, whole[slot], choices[whole["model"]], whole["model"])
    return whole


def renamed(settings):
    """The settings under the names that they have today, whatever a file written before calls them.

    Raises:
        ValueError: a setting stands there under both of its names.
    """
    for old, new in RENAMED.items():
        slot, _, before = old.rpartition(".")
        after = new.rpartition(".")[2]
        table = settings.get(slot) if slot else settings
        if not isinstance(table, dict) or before not in table:
            continue
        if after in table:
            raise ValueError(f"{old} is the former name of {new}, and both are given. Keep {new} alone.")
        table = {after if name == before else name: value for name, value in table.items()}
        settings = settings | {slot: table} if slot else table
    return settings


def known(key):
    """Refuse a setting that no recipe has, and name the nearest one that it has."""
    if key not in FIELDS:
        raise ValueError(f"unknown setting {key!r}.{hint(key, FIELDS)} Known settings: {', '.join(FIELDS)}.")


def hint(name, names):
    """ " Did you mean ...?", or nothing where no name is like it."""
    nearest = difflib.get_close_matches(name, names, n=1, cutoff=0.4)
    return f" Did you mean {nearest[0]!r}?" if nearest else ""
