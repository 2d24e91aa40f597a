"""A recipe: everything that decides a training, as one flat TOML file of checked settings."""

import dataclasses
import difflib
import json
import tomllib
from pathlib import Path
from typing import Literal, get_args

HERE = Path(__file__).parent
Pieces = Literal["unigram", "bpe", "char", "word"]
READ_BY = {  # which models read which data
    "dates": ("seq2seq", "transformer"),
    "reversal": ("seq2seq", "transformer"),
    "parallel": ("seq2seq", "transformer"),
    "text": ("language_model",),
    "duplication": ("language_model",),
    "trec": ("classifier",),
    "sst": ("classifier",),
    "tagged": ("tagger",),
}
POSITIONS_OF = {  # which positions a model takes
    "seq2seq": ("sinusoidal",),
    "transformer": ("sinusoidal",),
    "language_model": ("sinusoidal", "learned", "axial"),
    "classifier": ("sinusoidal", "convolutional"),
    "tagger": ("sinusoidal", "convolutional"),
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
    phrases: bool = False  # train on every phrase of the trees of "sst"

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

    # Model
    model: Literal["seq2seq", "transformer", "language_model", "classifier", "tagger"] = "seq2seq"
    units: int = 256
    num_layers: int = 1  # of the encoder, and of the decoder
    dropout: float = 0.0

    # of a recurrent one
    cell: Literal["simple_rnn", "gru", "gru_reset_before", "lstm"] = "gru"
    attention: Literal["additive", "dot", "none"] = "additive"

    # of the others
    block: Literal["post_norm", "pre_norm", "macaron", "reversible"] = "pre_norm"
    num_heads: int = 4
    hidden_units: int = 512  # of the feed-forward layers; Macaron's two have half each
    activation: Literal["relu", "gelu"] = "relu"
    context: int = 64  # tokens that a language model sees in training
    positions: Literal["sinusoidal", "learned", "convolutional", "axial"] = "sinusoidal"  # learned, axial: to `context`
    convolution_width: int = 3  # of convolutional positions
    axial_columns: int = 64  # of axial positions

    # of reversible blocks
    memory: Literal["plain", "checkpoint", "reversible"] = "reversible"  # what a training step keeps
    feedforward_chunks: int = 1  # parts of the sequence, one after the other
    hash_rounds: int = 2  # of LSH attention; 0 is full attention
    hash_buckets: int = 16  # an even number, about 2 * context / hash_chunk
    hash_chunk: int = 64  # positions that look at each other and at the chunk before
    hash_resample: bool = False  # other rotations in each training step

    # Batches
    batch_size: int = 64
    num_buckets: int = 4  # static shapes, and so compiled programs, at most
    max_length: int = 60  # training pairs with more tokens on a side are dropped

    # Optimisation
    learning_rate: float = 1e-3  # the peak of the schedule
    schedule: Literal["constant", "inverse_sqrt", "linear", "cosine"] = "constant"
    warmup: int = 0
    adam_beta_2: float = 0.999
    weight_decay: float = 0.0  # of matrices; a step shrinks them by this times the learning rate
    clip_norm: float = 1.0  # of all gradients together; 0 does not clip
    label_smoothing: float = 0.0
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
            _check(field, getattr(self, field.name))
        if self.data == "parallel" and not (self.source_language and self.target_language):
            raise ValueError(
                f"recipe {self.name!r} reads a parallel corpus and so needs source_language and "
                f"target_language, received {self.source_language!r} and {self.target_language!r}."
            )
        if self.positions not in POSITIONS_OF[self.model]:
            raise ValueError(
                f"recipe {self.name!r} gives a {self.model} {self.positions} positions; it takes "
                f"{' or '.join(POSITIONS_OF[self.model])} (convolutional ones look ahead, learned ones end)."
            )
        if self.model not in READ_BY[self.data]:
            raise ValueError(
                f"recipe {self.name!r} gives {self.data!r} data to a {self.model}; expected one of the models "
                f"{', '.join(READ_BY[self.data])}."
            )


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


def make(settings):
    """A `Recipe` from a dict; whole numbers are taken for floats.

    Raises:
        ValueError: a key is unknown (the message names the nearest one) or missing, or a value is
            of the wrong type or not among the choices.
    """
    for key in settings:
        _known(key)
    missing = [name for name, field in FIELDS.items() if field.default is dataclasses.MISSING and name not in settings]
    if missing:
        raise ValueError(f"the recipe lacks {', '.join(missing)}; received {sorted(settings)}.")
    return Recipe(
        **{
            key: float(value) if FIELDS[key].type is float and type(value) is int else value
            for key, value in settings.items()
        }
    )


def _known(key):
    if key not in FIELDS:
        nearest = difflib.get_close_matches(key, FIELDS, n=1, cutoff=0.4)
        hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
        raise ValueError(f"unknown setting {key!r}.{hint} Known settings: {', '.join(FIELDS)}.")


def parse(assignment):
    """("key", value) of a command line's "key=value", the value by the setting's type.

    Raises:
        ValueError: there is no "=", the key is unknown or the value does not parse.
    """
    key, equals, text = assignment.partition("=")
    if not equals:
        raise ValueError(f"expected key=value, such as steps=100; received {assignment!r}.")
    _known(key)
    kind = str if get_args(FIELDS[key].type) else FIELDS[key].type
    try:
        value = {"true": True, "false": False}[text.lower()] if kind is bool else kind(text)
    except (KeyError, ValueError) as error:
        raise ValueError(f"{key} must be {kind.__name__}, received {text!r}.") from error
    return key, value


def names():
    """The recipes that come with the zoo."""
    return sorted(path.stem for path in HERE.glob("*.toml"))


def load(name_or_path, overrides=()):
    """The recipe of a name, or of a TOML file, with "key=value" overrides applied.

    A file that begins with `extends = "NAME"` holds only what differs from NAME.toml beside it.

    Raises:
        ValueError: there is no such recipe, or it is wrong (see `make`, `parse`).
    """
    path = Path(name_or_path)
    if path.suffix != ".toml":
        if str(name_or_path) not in names():
            nearest = difflib.get_close_matches(str(name_or_path), names(), n=1)
            hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
            raise ValueError(
                f"unknown recipe {str(name_or_path)!r}.{hint} Known recipes: {', '.join(names())}; "
                "or give the path of a .toml file."
            )
        path = HERE / f"{name_or_path}.toml"
    try:
        return make(_settings(path) | dict(parse(assignment) for assignment in overrides))
    except FileNotFoundError as error:
        raise ValueError(f"there is no recipe {error.filename}.") from error


def _settings(path):
    """What a file says; `extends = "NAME"` begins with what NAME.toml beside it says."""
    try:
        own = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not TOML: {error}") from error
    base = own.pop("extends", None)
    return own if base is None else _settings(path.with_name(f"{base}.toml")) | own


def dumps(recipe):
    """The TOML text of a recipe, every setting spelt out."""
    settings = dataclasses.asdict(recipe).items()
    return "".join(f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in settings)
