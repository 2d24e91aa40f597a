"""What `seqzoo new` proposes, against three alternatives, on sixteen tasks of thirteen public corpora in three sizes.

    python benchmarks/defaults.py --data DIR --work DIR                  # all cells that are not there yet
    python benchmarks/defaults.py --data DIR --work DIR --only tweets --size 300
    python benchmarks/defaults.py --table                                # the table of the cells that are there

A cell is one training: a set, a number of training examples and a recipe. Each keeps a line in
`benchmarks/results/defaults.jsonl`, and what is there is not trained again, not even under another name or on another
processor: the table compares errors, and a cell's `seconds` are those of its own `processor`.
All recipes of a row take as many updates as the proposal does, at most `--updates`, a tenth of them as warm-up, with
8 validations, on one thread and with seed 1. The alternatives differ in what the proposal chose; see `ALTERNATIVES`.
`error` is what is left to 100 of the score on the test part (of which the first 1,000 examples are asked): entity F1,
accuracy, BLEU, or words right; `ratio` is the default's by the best alternative's. A folder of `--data` has the
corpora by these names: wnut17 (https://github.com/leondz/emerging_entities_17), ud-english-ewt, clinc150, trec, sst,
babi, g2p-sigmorphon-2020, cmudict, toy-seq2seq, scan, tatoeba-en-zh, multi30k. A set that no folder has is left out,
and that is said.
"""

import argparse
import gzip
import hashlib
import json
import random
import shutil
import time
from pathlib import Path

from harness import processor
from harness.report import RESULTS, table
from harness.runs import seqzoo

from zoo.data.formats.base import ROLES
from zoo.recipes.files import merge
from zoo.recipes.proposal import propose
from zoo.recipes.toml import toml
from zoo.tasks import TASKS

SPLITS, BABI = ("train", "valid", "test"), "en-valid-10k/qa1"
SIZES = (300, 3_000, 10_000)
ASKED, VALIDATED = 1_000, 500  # examples at most of the test and of the validation
SCORES = ("entity_f1", "accuracy", "bleu", "wer")  # the first of them that an evaluation has

SPELLED = {
    "embedding": {"layer": "spelled", "alone": 0.3},
    "text": {"noise": {"candidates": 6, "rare": 3, "dropout": 0.02}},
}
LSTM = {"kind": "recurrent", "cell": "lstm", "units": 128, "num_layers": 1, "dropout": 0.3}
BLOCKS = {"kind": "transformer", "units": 128, "num_layers": 2, "num_heads": 4, "hidden_units": 256, "dropout": 0.3}
READER = {"model": BLOCKS, "positions": {"layer": "convolutional"}, "training": {"learning_rate": 1.5e-3}}
RECURRENT = {"model": LSTM, "training": {"learning_rate": 4e-3}}
READS = {
    "transformer": READER,
    "star": {**READER, "model": {name: size for name, size in BLOCKS.items() if name != "hidden_units"}}
    | {"depth": {"layer": "star"}},
    "lstm": RECURRENT,
    "spelled lstm": {**RECURRENT, **SPELLED},
    "spelled transformer": {**READER, **SPELLED},
}
GRU = {"kind": "recurrent", "cell": "gru", "units": 128, "dropout": 0.3}
WRITES = {
    "transformer": {"model": BLOCKS, "training": {"learning_rate": 1e-3}},
    "gru dot": {"model": GRU, "attention": {"layer": "dot"}},
    "gru additive": {"model": GRU | {"dropout": 0.2}, "attention": {"layer": "additive"}},
    "lstm dot": {"model": LSTM, "attention": {"layer": "dot"}},
}
# Tables of which an alternative has its own, or none.
CHOSEN = ("model", "attention", "positions", "depth", "embedding")
ALTERNATIVES = {
    "tag": (("transformer", "spelled lstm", "spelled transformer", "lstm"), READS),
    "classify": (("lstm", "spelled transformer", "star", "transformer"), READS),
    "transduce": (("transformer", "gru additive", "gru dot", "lstm dot"), WRITES),
    "translate": (("transformer", "gru dot", "gru additive", "lstm dot"), WRITES),
}


def lines(path):
    """The lines of a file, which may be packed."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="latin-1" if path.parent.name == "trec" else "utf-8") as file:
        return file.read().split("\n")[:-1]


def tabbed(rows):
    return [tuple(row.split("\t")[:2]) for row in rows]


def first_word(rows):
    """A label before the text."""
    return [(text, label) for label, _, text in (row.partition(" ") for row in rows)]


def coarse(rows):
    """The label's first part."""
    return [(text, label.partition(":")[0]) for text, label in first_word(rows)]


def sentences(rows):
    """A word and its tag a line, sentences set apart by empty lines."""
    found, words = [], []
    for row in [*rows, ""]:
        if row.strip():
            words.append(row.split())
        elif words:
            found.append(tuple(map(" ".join, zip(*words, strict=True))))
            words = []
    return found


def stories(rows):
    """The question behind its story, to its answer."""
    found, story = [], []
    for row in rows:
        number, _, text = row.partition(" ")
        story = [] if number == "1" else story
        if "\t" in text:
            question, answer, _ = text.split("\t")
            found.append((" ".join([*story, question.strip()]), answer))
        else:
            story.append(text)
    return found


def commands(rows):
    return [(one.removeprefix("IN: "), two) for one, _, two in (row.partition(" OUT: ") for row in rows)]


def phones(rows):
    found = (row.partition(" #")[0].partition(" ") for row in rows)
    return [(word, answer) for word, _, answer in found if "(" not in word]


def underlined(rows):
    return [(one.strip(), two.strip()) for one, _, two in (row.partition("_") for row in rows)]


# Name: task, folder, the files of training, validation and test ("-": a part of the training), and what reads them.
SETS = {
    "tweets": ("tag", "wnut17", "wnut17train.conll emerging.dev.conll emerging.test.annotated", sentences),
    "speech": ("tag", "ud-english-ewt", "pos.train.tsv.gz pos.dev.tsv.gz pos.test.tsv.gz", tabbed),
    "intents": ("classify", "clinc150", "train.tsv.gz val.tsv.gz test.tsv.gz", tabbed),
    "trec-6": ("classify", "trec", "TREC.train - TREC.test", coarse),
    "trec-50": ("classify", "trec", "TREC.train - TREC.test", first_word),
    "sst-2": ("classify", "sst", "stsa.binary.train.gz stsa.binary.dev.gz stsa.binary.test.gz", first_word),
    "sst-5": ("classify", "sst", "stsa.fine.train.gz stsa.fine.dev.gz stsa.fine.test.gz", first_word),
    "babi-1": ("classify", "babi", f"{BABI}_train.txt.gz {BABI}_valid.txt.gz en-valid/qa1_test.txt.gz", stories),
    "icelandic": ("transduce", "g2p-sigmorphon-2020", "ice_train.tsv.gz ice_dev.tsv.gz ice_test.tsv.gz", tabbed),
    "korean": ("transduce", "g2p-sigmorphon-2020", "kor_train.tsv.gz kor_dev.tsv.gz kor_test.tsv.gz", tabbed),
    "english": ("transduce", "cmudict", "cmudict.dict.gz - -", phones),
    "dates": ("transduce", "toy-seq2seq", "date.txt.gz - -", underlined),
    "sums": ("transduce", "toy-seq2seq", "addition.txt.gz - -", underlined),
    "scan": ("translate", "scan", "tasks_train_simple.txt.gz - tasks_test_simple.txt.gz", commands),
    "chinese": ("translate", "tatoeba-en-zh", "train valid test", ("en", "zh")),
    "captions": ("translate", "multi30k/raw", "train val test_2016_flickr", ("de", "en")),
}


def parts(folder, names, read):
    """`{split: [(text, answer)]}`, without the splits that are no file; two languages are a file each."""
    files = {split: name for split, name in zip(SPLITS, names.split(), strict=True) if name != "-"}
    if isinstance(read, tuple):
        sides = {split: [lines(folder / f"{name}.{side}.gz") for side in read] for split, name in files.items()}
        return {split: list(zip(*both, strict=True)) for split, both in sides.items()}
    return {split: read(lines(folder / name)) for split, name in files.items()}


def written(name, size, folders, work):
    """The files of a set, cut to a size by seed 1; None if no folder has the set, or it is too small for the size."""
    task, folder, names, read = SETS[name]
    at = next((each / folder for each in folders if (each / folder).is_dir()), None)
    if at is None:
        return None
    found = {split: [pair for pair in own if all(pair)] for split, own in parts(at, names, read).items()}
    draw, cut = random.Random(1), {"valid": VALIDATED, "test": ASKED}
    draw.shuffle(found["train"])
    for split, most in cut.items():
        if split not in found:
            found[split], found["train"] = found["train"][:most], found["train"][most:]
        found[split] = found[split][:most]
    if size > SIZES[0] and len(found["train"]) < SIZES[SIZES.index(size) - 1]:
        return None
    found["train"], found["valid"] = found["train"][:size], found["valid"][: max(100, size // 4)]
    target = work / f"{name}-{size}"
    target.mkdir(parents=True, exist_ok=True)
    for split, own in found.items():
        if task == "tag":
            rows = [
                "".join(f"{word}\t{tag}\n" for word, tag in zip(*map(str.split, pair), strict=True)) for pair in own
            ]
        else:
            rows = [json.dumps(dict(zip(ROLES[TASKS[task].kind], pair, strict=True))) for pair in own]
        (target / f"{split}.{'conll' if task == 'tag' else 'jsonl'}").write_text("\n".join(rows) + "\n", "utf-8")
    return sorted(target.iterdir()), {split: len(own) for split, own in found.items()}


def system(settings):
    """What tells a recipe from another one here."""
    kinds = [settings["model"].get(key) for key in ("kind", "cell")]
    return kinds + [settings.get(slot, {}).get("layer") for slot in ("attention", "depth", "embedding")]


def recipes(name, files, updates):
    """`{"default" or the name of an alternative: settings}`; an alternative that is the default is left out."""
    task = SETS[name][0]
    default, _ = propose(task, files, name)
    steps = min(default["training"]["steps"], updates) // 8 * 8
    plan = {"steps": steps, "validate_every": steps // 8, "warmup": steps // 10}
    default["training"] |= plan
    found, (names, tables) = {"default": default}, ALTERNATIVES[task]
    for other in names:
        settings = {key: value for key, value in default.items() if key not in CHOSEN}
        settings["text"] = {key: value for key, value in default["text"].items() if key != "noise"}
        settings = merge(settings, tables[other])
        if system(settings) != system(default):
            found[other] = settings
    return found


def mark(settings):
    """Tells whether two trainings of a set and a size are the same, whatever they are called."""
    said = {key: value for key, value in settings.items() if key not in ("name", "description", "data")}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:12]


def measured(settings, run):
    """The score of one training, on the test part, and its seconds."""
    shutil.rmtree(run, ignore_errors=True)
    recipe = run.with_suffix(".toml")
    recipe.write_text(toml(settings), "utf-8")
    start = time.time()
    seqzoo("train", recipe, "--out", run)
    taken = time.time() - start
    scores = json.loads(seqzoo("evaluate", run, "--json"))
    score = next(key for key in SCORES if key in scores)
    left = scores[score] if score == "wer" else 100 - scores[score]
    shutil.rmtree(run)
    return {"score": score, "error": round(left, 2), "seconds": round(taken)}


def kept(path):
    """The cells that are there."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.is_file() else []


def rows(cells):
    """A row for each set and size whose default and at least one alternative are there."""
    found = []
    for name, size in dict.fromkeys((cell["set"], cell["size"]) for cell in cells):
        own = {cell["recipe"]: cell for cell in cells if (cell["set"], cell["size"]) == (name, size)}
        others = [cell for cell in own.values() if cell["mark"] != own.get("default", cell)["mark"]]
        if "default" in own and others:
            default, best = own["default"], min(others, key=lambda cell: cell["error"])
            row = {"set": name, "examples": default["train"], "score": default["score"], "default": default["error"]}
            row |= {"best alternative": best["recipe"], "its error": best["error"], "alternatives": len(others)}
            found.append(row | {"ratio": round(max(default["error"], 0.01) / max(best["error"], 0.01), 2)})
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, action="append", default=[], help="a folder of corpora; several times")
    parser.add_argument("--work", type=Path, default=Path("build/defaults"), help="for files and runs")
    parser.add_argument("--only", action="append", choices=SETS, help="these sets; several times")
    parser.add_argument("--size", type=int, action="append", choices=SIZES, help="these sizes; several times")
    parser.add_argument("--updates", type=int, default=600, help="of a training, at most")
    parser.add_argument("--table", action="store_true", help="train nothing")
    options = parser.parse_args()
    path, machine = RESULTS / "defaults.jsonl", processor.slug(processor.processor())
    todo = [] if options.table else [(size, name) for size in options.size or SIZES for name in options.only or SETS]
    for size, name in todo:
        files = written(name, size, options.data, options.work)
        if files is None:
            print(f"{name}, {size}: left out; no folder of --data has it, or it has no more than the size before.")
            continue
        for recipe, settings in recipes(name, files[0], options.updates).items():
            cell = {"set": name, "size": size, "recipe": recipe, "updates": options.updates, "mark": mark(settings)}
            same = ("set", "size", "mark")
            twins = [each for each in kept(path) if all(each[key] == cell[key] for key in same)]
            if any(each["recipe"] == recipe for each in twins):
                continue
            found = twins[0] if twins else measured(settings, options.work / f"{name}-{size}-{cell['mark']}")
            told = {
                "steps": settings["training"]["steps"],
                **files[1],
                "commit": processor.commit(),
                "processor": machine,
            }
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(told | found | cell) + "\n")
            print(told | found | cell, flush=True)
    print(table(rows([cell for cell in kept(path) if cell["updates"] == options.updates])))


if __name__ == "__main__":
    main()
