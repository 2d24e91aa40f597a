"""Recipes that train in seconds, one for each kind of model, and corpora of a few lines."""

from zoo import recipes
from zoo.recipes import corpora
from zoo.recipes.files import settled

COMMON = {
    "name": "small",
    "description": "A test.",
    "batch_size": 8,
    "steps": 4,
    "validate_every": 2,
    "average": 2,
}
BUCKETS = {"num_buckets": 1}
SIZES = {"train_size": 60, "valid_size": 7, "test_size": 11, "longest": 5}
WORDS_OF_LETTERS = {"source_vocab_size": 31, "source_pieces": "word"}
REVERSAL = (
    COMMON
    | BUCKETS
    | SIZES
    | WORDS_OF_LETTERS
    | {"task": "reversal", "data": "reversal", "beam": 2, "max_output_length": 6}
)
TARGETS = {"target_vocab_size": 31, "target_pieces": "word"}
SETTINGS = REVERSAL | TARGETS | {"system": "recurrent", "units": 5}
STACK = {"system": "transformer", "units": 4, "num_heads": 2, "hidden_units": 6, "dropout": 0.1}
NOISE = {"source_vocab_size": 30, "subword_candidates": 3, "token_dropout": 0.1}
KINDS = {
    "seq2seq": SETTINGS,
    "transformer": REVERSAL | STACK | {"model": "transformer", "shared_vocabulary": True},
    "language_model": COMMON
    | STACK
    | {
        "max_output_length": 6,
        "model": "language_model",
        "data": "text",
        "task": "text",
        "source_pieces": "char",
        "context": 5,
    },
    "reformer": COMMON
    | STACK
    | {
        "model": "language_model",
        "data": "text",
        "task": "text",
        "source_pieces": "char",
        "context": 12,
        "depth": "reversible",
        "attention": {"layer": "lsh", "rounds": 2, "num_buckets": 4, "chunk_length": 4},
        "feedforward": {"layer": "chunked", "chunks": 2},
        "positions": {"layer": "axial", "columns": 4},
    },
    "completions": COMMON
    | BUCKETS
    | SIZES
    | STACK
    | {
        "task": "duplication",
        "max_output_length": 6,
        "model": "language_model",
        "data": "duplication",
        "source_pieces": "char",
        "source_vocab_size": 60,
    },
    "classifier": COMMON
    | BUCKETS
    | STACK
    | NOISE
    | {"model": "classifier", "data": "trec", "task": "kind of question"},
    "stories": COMMON
    | BUCKETS
    | STACK
    | {"model": "classifier", "data": "babi", "babi_task": 2, "task": "questions", "source_pieces": "bpe"}
    | {"source_vocab_size": 60, "sentences": 2, "depth": {"layer": "universal", "halting": "accumulated"}},
    "tagger": COMMON
    | BUCKETS
    | STACK
    | NOISE
    | {"model": "tagger", "data": "tagged", "task": "tags", "spelling": True, "spelling_alone": 0.2, "subword_rare": 9},
}
WORDS = ("undoing", "undone", "doing", "done", "redo", "undo")


def recipe(model="seq2seq", **changes):
    """The recipe of a kind with changes, as a file with overrides is: numbers that these leave no use fall away."""
    return recipes.make(settled([KINDS[model], changes]))


def write_corpus(one, directory):
    """Files for a small recipe, where its data are not generated; returns the directory to give."""
    directory.mkdir(exist_ok=True)
    texts = [" ".join(WORDS[(i + j * j) % 6] for j in range(1 + i % 4)) for i in range(40)]
    if one.data == "text":
        (directory / "input.txt").write_text("\n\n".join(texts) + "\n")
    elif one.data == "trec":
        lines = [f"{('LOC', 'NUM', 'HUM')[i % 3]}:x {text} {i}" for i, text in enumerate(texts)]
        (directory / "TREC.train").write_text("".join(f"{line}\n" for line in lines))
        (directory / "TREC.test").write_text("".join(f"{line}\n" for line in lines[:7]))
    elif one.data == "babi":
        lines = [f"{1 + i % 3} {text}." if i % 3 < 2 else f"3 {text}? \t{text[:2]}\t1" for i, text in enumerate(texts)]
        for split in corpora.SPLITS:
            (directory / f"qa2_{split}.txt").write_text("".join(f"{line}\n" for line in lines))
    elif one.data == "tagged":
        lines = [f"{text}\t{' '.join(word[0].upper() for word in text.split())}\n" for text in texts]
        for split in ("train", "dev", "test"):
            (directory / f"{split}.tsv").write_text("".join(lines if split == "train" else lines[:9]))
    return directory
