"""Recipes that train in seconds, one for each kind of model, and corpora of a few lines."""

from functools import reduce

from zoo import recipes
from zoo.recipes.files import combine_settings, merge
from zoo.tasks.parts.corpora import SPLITS

COMMON = {
    "name": "small",
    "description": "A test.",
    "training": {"batch_size": 8, "steps": 4, "validate_every": 2, "average": 2},
}
BUCKETS = {"training": {"num_buckets": 1}}
PART = {"train_size": 60, "valid_size": 7, "test_size": 11}
SIZES = PART | {"longest": 5}
WORDS_OF_LETTERS = {"vocab_size": 31, "pieces": "word"}
REVERSAL = {
    "task": "translate",
    "data": {"corpus": "reversal", **SIZES},
    "text": WORDS_OF_LETTERS,
    "search": {"beam": 2, "max_output_length": 6},
}
STACK = {"model": {"kind": "transformer", "units": 4, "num_heads": 2, "hidden_units": 6, "dropout": 0.1}}
RUNNING = {
    "task": "continue",
    "data": "text",
    "text": {"pieces": "char"},
    "model": {"context": 5},
    "search": {"max_output_length": 6},
}
NOISE = {"text": {"vocab_size": 30, "noise": {"candidates": 3, "dropout": 0.1}}}
KINDS = {
    "seq2seq": (
        BUCKETS,
        REVERSAL,
        {"system": "recurrent", "model": {"kind": "recurrent", "units": 5}, "text": {"target": WORDS_OF_LETTERS}},
    ),
    "transformer": (BUCKETS, REVERSAL, STACK, {"text": {"shared": True}}),
    "transducer": (
        BUCKETS,
        REVERSAL,
        {"task": "transduce", "model": {"kind": "recurrent", "units": 5}, "text": {"target": WORDS_OF_LETTERS}},
    ),
    "language_model": (STACK, RUNNING),
    "reformer": (
        STACK,
        RUNNING,
        {
            "model": {"context": 12},
            "depth": "reversible",
            "attention": {"layer": "lsh", "rounds": 2, "num_buckets": 4, "chunk_length": 4},
            "feedforward": {"layer": "chunked", "chunks": 2},
            "positions": {"layer": "axial", "columns": 4},
        },
    ),
    "completions": (
        BUCKETS,
        STACK,
        {
            "task": "continue",
            "data": {"corpus": "duplication", **SIZES},
            "text": {"pieces": "char", "vocab_size": 60},
            "search": {"max_output_length": 6},
        },
    ),
    "classifier": (BUCKETS, STACK, NOISE, {"task": "classify", "data": "trec"}),
    "stories": (
        BUCKETS,
        STACK,
        {
            "task": "classify",
            "data": {"corpus": "babi", "number": 2},
            "text": {"vocab_size": 60, "pieces": "bpe"},
            "embedding": {"layer": "sentences", "shortest": 2},
            "depth": {"layer": "universal", "halting": "accumulated"},
        },
    ),
    "pairs": (
        BUCKETS,
        STACK,
        {"task": "compare", "data": {"corpus": "date_pairs", **PART}, "text": {"vocab_size": 90, "pieces": "char"}},
    ),
    "tagger": (
        BUCKETS,
        STACK,
        NOISE,
        {
            "task": "tag",
            "data": "tagged",
            "text": {"noise": {"rare": 9}},
            "embedding": {"layer": "spelled", "alone": 0.2},
        },
    ),
}
KINDS = {kind: reduce(merge, layers, COMMON) for kind, layers in KINDS.items()}
WORDS = ("undoing", "undone", "doing", "done", "redo", "undo")


def recipe(kind="seq2seq", *overrides, **changes):
    """The recipe of a kind with changes, as a file with overrides is: numbers that these leave no use fall away.

    Args:
        kind: of `KINDS`.
        *overrides: as a command line gives them, such as "training.steps=2".
        **changes: tables, or names of what a table chooses.
    """
    given = reduce(merge, (recipes.files.parse(each) for each in overrides), changes)
    return recipes.make(combine_settings([KINDS[kind], given]))


def write_corpus(one, directory):
    """Files for a small recipe; returns the directory to give, which is None where its data are generated."""
    if one.data.generated:
        return None
    directory.mkdir(exist_ok=True)
    texts = [" ".join(WORDS[(i + j * j) % 6] for j in range(1 + i % 4)) for i in range(40)]
    corpus = one.data.corpus
    if corpus == "text":
        (directory / "input.txt").write_text("\n\n".join(texts) + "\n")
    elif corpus == "trec":
        lines = [f"{('LOC', 'NUM', 'HUM')[i % 3]}:x {text} {i}" for i, text in enumerate(texts)]
        (directory / "TREC.train").write_text("".join(f"{line}\n" for line in lines))
        (directory / "TREC.test").write_text("".join(f"{line}\n" for line in lines[:7]))
    elif corpus == "babi":
        lines = [f"{1 + i % 3} {text}." if i % 3 < 2 else f"3 {text}? \t{text[:2]}\t1" for i, text in enumerate(texts)]
        for split in SPLITS:
            (directory / f"qa2_{split}.txt").write_text("".join(f"{line}\n" for line in lines))
    elif corpus == "tagged":
        lines = [f"{text}\t{' '.join(word[0].upper() for word in text.split())}\n" for text in texts]
        own = one.data.train_split, one.data.valid_split, one.data.test_split
        for split, some in zip(own, (lines, lines[:9], lines[:9]), strict=True):
            (directory / f"{split}.tsv").write_text("".join(some))
    return directory
