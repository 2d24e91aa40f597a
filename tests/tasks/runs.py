"""Finished runs of every task in a moment: small models that nobody has trained, on files of a few lines."""

import json

from zoo import recipes

WORDS = ("undoing", "undone", "doing", "done", "redo", "undo")
TEXTS = [" ".join(WORDS[(i + j * j) % 6] for j in range(1 + i % 4)) for i in range(40)]
STACK = {"units": 4, "num_heads": 2, "hidden_units": 6, "num_layers": 1}
READER = {"text": {"pieces": "word", "vocab_size": 40}, "model": {"kind": "transformer", **STACK}}
WRITER = {
    "text": {"pieces": "char", "vocab_size": 40, "target": {"pieces": "char", "vocab_size": 40}},
    "model": {"kind": "recurrent", "units": 4},
    "search": {"beam": 2, "max_output_length": 6},
}
SETTINGS = {
    "translate": WRITER | {"data": {"source_language": "en", "target_language": "de"}},
    "transduce": WRITER,
    "classify": READER,
    "compare": READER,
    "rate": READER,
    "rate_pairs": READER,
    "tag": READER,
    "embed": READER,
    "continue": {
        "text": {"pieces": "char", "vocab_size": 40},
        "model": {"kind": "transformer", "context": 8, **STACK},
    },
}


def lines(task):
    """Forty examples of a task, as its files hold them."""
    labels = [f"{('water', 'fire', 'air')[i % 3]}" for i in range(40)]
    columns = {
        "translate": (TEXTS, [text[::-1] for text in TEXTS]),
        "transduce": (TEXTS, [text[::-1] for text in TEXTS]),
        "classify": (TEXTS, labels),
        "compare": (TEXTS, TEXTS[::-1], labels),
        "rate": (TEXTS, [f"{20 + 10 * (i % 5)}" for i in range(40)]),
        "rate_pairs": (TEXTS, TEXTS[::-1], [f"{i % 5}" for i in range(40)]),
        "embed": (TEXTS, TEXTS[::-1], [f"{i * i % 7 / 2}" for i in range(40)]),
        "tag": (TEXTS, [" ".join(word[0].upper() for word in text.split()) for text in TEXTS]),
        "continue": (TEXTS,),
    }[task]
    return ["\t".join(row) for row in zip(*columns, strict=True)]


def recipe(task, directory, **changes):
    """The recipe of a task, whose files are written."""
    names = {}
    for split, part in (("train", lines(task)), ("valid", lines(task)[:12]), ("test", lines(task)[:9])):
        path = directory / (f"{split}.txt" if task == "continue" else f"{split}.tsv")
        path.write_text("".join(f"{line}\n" for line in part))
        names[split] = str(path)
    settings = {"name": "small", "task": task} | SETTINGS[task] | changes
    if task != "continue":
        roles = {"classify": ("text", "label"), "compare": ("first", "second", "label"), "tag": ("words", "tags")}
        roles |= dict.fromkeys(("embed", "rate_pairs"), ("first", "second", "score")) | {"rate": ("text", "score")}
        columns = {role: number for number, role in enumerate(roles.get(task, ("source", "target")), 1)}
        names["columns"] = columns | {"header": False}
    return recipes.make(settings | {"data": settings.get("data", {}) | names})


def write(one, directory):
    """The folder of a finished run of a recipe."""
    from zoo.core.storage import save_model
    from zoo.runs import training
    from zoo.tasks.parts.building import build_model
    from zoo.tasks.parts.task import Run

    parts = training.make_parts(one)
    directory.mkdir()
    (directory / "recipe.toml").write_text(recipes.dumps(one))
    for name, tokenizer in zip(recipes.folder.tokenizer_names(one), parts.tokenizers, strict=True):
        tokenizer.save(directory / name)
    if parts.labels:
        (directory / "labels.json").write_text(json.dumps(parts.labels))
    model = build_model(one.job, one, *parts.sizes)
    save_model(model, directory / "model.keras")
    threshold = one.job.threshold(Run(one, model, parts.tokenizers, parts.labels), parts.examples)
    if threshold is not None:
        (directory / "scope.json").write_text(json.dumps({"label": one.scope.label, "threshold": threshold}))
    return directory
