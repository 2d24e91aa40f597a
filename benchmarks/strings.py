"""Ten thousand strings that nobody would send, through `seqzoo run`, `Runtime` and the SavedModel of every kind.

    python benchmarks/strings.py                  # 10,000 strings, six artefacts; writes benchmarks/results/
    python benchmarks/strings.py --count 300      # fewer; writes nothing

Untrained models of every kind are exported: a GRU and a Transformer that write from a source, a language model, and
models that classify, compare and tag. The strings are seeded and shuffled: plain ones, blank ones, control
characters with NUL, lone surrogates, bytes that are no UTF-8, right to left, emoji, combining signs, line separators,
tabs, more tokens than are read, and texts of 1 MB. Asked of every artefact:

- each string has one answer, in its place, in all three forms, and the three agree (text, label, tags, and what is
  said of a string that is refused or read in part); `run` with --json, and a tenth of the strings without;
- a string that is asked alone is answered as it is among the others (a sample of 200);
- no process ends with anything but its documented exit status, and none prints a traceback.

Expected: 0 lost, 0 that differ.
"""

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

ROOT = Path(__file__).parents[1]
WORDS = "the cat sat on a mat".split()
LABELS = ("one", "two", "three")
ALONE, BATCH, MEGABYTE = 200, 200, 1_000_000
PIECES = {
    "plain": [" ".join(WORDS[start:]) for start in range(len(WORDS))],
    "blank": ["", " ", "\t", "\u3000", "\u2028", "\u2029", "\x85", "\xa0", "\u200b", "\r", "\x0b", "\x0c"],
    "control": [*map(chr, range(1, 9)), "\x00", "\x00", "\x1b[31m", "\x1c", "\x7f", "\x9f", "cat", "\ufeff", "\ufffe"],
    "right to left": ["שלום", "مرحبا", "\u202eabc\u202c", "\u200f", "cat", " "],
    "emoji": ["👩‍👩‍👧", "🏳️‍🌈", "🇫🇷", "👍🏽", "cat", " "],
    "combining": ["e\u0301", "Z\u0351\u036b\u0343", "\u0301", "ﷺ", "ﬁ", "각", "cat", " "],
    "line separators": ["cat", "\u2028", "\x85", "\r", "\x0b", "mat", "\u2029"],
    "tabs": ["cat", "\t", "\t\t", "mat"],
    "other scripts": ["日本語", "Привет", "ไทย", "अन", "\U00020000", "\U0010ffff", " "],
    "lone surrogates": ["cat ", "\ud83d", "\udc00", "\udfff mat"],
}
SHARES = {"plain": 20, "blank": 10, "bytes that are no UTF-8": 10, "too many tokens": 5, "1 MB": 0.4}


def strings(count, seed=0):
    """`[(category, string)]`; bytes that are no UTF-8 stand as lone surrogates, as `surrogateescape` has them."""
    rng = random.Random(seed)
    makers = {name: lambda pieces=pieces: _some(rng, pieces, 1, 9) for name, pieces in PIECES.items()}
    makers["blank"] = lambda: _some(rng, PIECES["blank"], 0, 4)
    makers["bytes that are no UTF-8"] = lambda: (
        _some(rng, PIECES["emoji"], 0, 3) + os.fsdecode(bytes(rng.choices(range(128, 256), k=3)) + b"\xff cat")
    )
    makers["too many tokens"] = lambda: _some(rng, ["cat ", "日", "mat\t".strip()], 1200, 1500)
    makers["1 MB"] = lambda: _some(rng, [rng.choice(["a", "cat ", "日", "\x00", "👍🏽", "a "])], 1, 1) * MEGABYTE
    makers["1 MB"] = lambda make=makers["1 MB"]: make()[:MEGABYTE]
    names = rng.choices(list(makers), [SHARES.get(name, 7) for name in makers], k=count)
    return [(name, makers[name]()) for name in names]


def _some(rng, pieces, least, most):
    return "".join(rng.choices(pieces, k=rng.randint(least, most)))


def as_bytes(text):
    """A string as a client sends it: bytes that are no UTF-8 as they were, other surrogates as three bytes."""
    return b"".join(
        bytes([ord(sign) - 0xDC00]) if 0xDC80 <= ord(sign) <= 0xDCFF else sign.encode("utf-8", "surrogatepass")
        for sign in text
    )


def as_line(text):
    """A string as it reaches `Runtime` from a line of a file: without what ends a line."""
    return as_bytes(text).decode("utf-8", "surrogateescape").rstrip("\r\n")


def outcome(result):
    """Whether a result is refused, cut, blank or answered."""
    if result.error:
        return "refused"
    if "only the" in (result.warning or ""):  # other warnings doubt an answer
        return "cut"
    return "answered" if result.answer else "blank"


def comparable(result):
    """What two forms must agree on: the answer, and what is said of the text."""
    return result.answer, _plainly(result.error), result.warning or ""


def _plainly(error):
    """An error without which byte or sign was no UTF-8: TensorFlow does not say."""
    return re.sub("(not UTF-8): .*", r"\1", error or "")


def of_command(artefact, texts, *options):
    """The lines that `seqzoo run` prints for lines from standard input."""
    command = [sys.executable, "-m", "tools.cli", "run", str(artefact), *options]
    given = b"".join(as_bytes(text) + b"\n" for text in texts)
    done = subprocess.run(command, cwd=ROOT, capture_output=True, input=given)
    if done.returncode not in (0, 1) or b"Traceback" in done.stderr:
        raise AssertionError(f"exit {done.returncode}: {done.stderr[-2000:].decode(errors='replace')}")
    return done.stdout.decode("utf-8").split("\n")[:-1]


def of_record(record):
    """The answer of a JSON record, with what is said of the text."""
    if "words" in record:
        answer = [word["tag"] for word in record["words"]]
    else:
        answer = record.get("output", record.get("label"))
    return answer, _plainly(record.get("error")), record.get("warning", "")


def of_saved_model(artefact, kind, texts):
    """The same of the SavedModel."""
    import tensorflow as tf
    import tensorflow_text  # noqa: F401  registers the tokenizers' operations

    serve = tf.saved_model.load(str(artefact)).signatures["serving_default"]
    found = []
    for start in range(0, len(texts), BATCH):
        part = [as_bytes(text) for text in texts[start : start + BATCH]]
        if kind == "compare":
            first, second = zip(*(text.split(b"\t") for text in part), strict=True)
            given = {"first_text": tf.constant(first), "second_text": tf.constant(second)}
        else:
            given = {"text": tf.constant(part)}
        outputs = {name: value.numpy() for name, value in serve(**given).items()}
        for row in range(len(part)):
            found.append(
                (_answer(outputs, row), _plainly(outputs["errors"][row].decode()), outputs["warnings"][row].decode())
            )
    return found


def _answer(outputs, row):
    if "tags" in outputs:
        return [tag.decode() for tag in outputs["tags"][row][: outputs["word_counts"][row]]]
    return outputs["label" if "label" in outputs else "output_text"][row].decode()


def check(artefact, drawn):
    """Ask an artefact in all forms: `(outcomes by category, number of differences by what was compared)`."""
    from serving.runtime import Runtime

    runtime = Runtime(artefact, threads=1)
    texts = [text.replace("\n", " ") for _, text in drawn]
    if runtime.kind == "compare":
        texts = [text.replace("\t", " ") for text in texts]
        texts = ["\t".join(both) for both in zip(texts, texts[1:] + texts[:1], strict=True)]
    results = [result for start in range(0, len(texts), 250) for result in runtime.run(texts[start : start + 250])]
    lines = [as_line(text) for text in texts]
    lines[0] = lines[0].removeprefix("\ufeff")
    other = [number for number, line in enumerate(lines) if line != texts[number]]
    of_lines = list(results)
    for number, result in zip(other, runtime.run([lines[number] for number in other]), strict=True):
        of_lines[number] = result
    records = [json.loads(line) for line in of_command(artefact, texts, "--json")]
    some = len(texts) // 10
    plain = of_command(artefact, texts[:some])
    saved = of_saved_model(artefact, runtime.kind, texts)
    alone = random.Random(1).sample(range(len(texts)), min(ALONE, len(texts)))
    differ = {
        "lost": 2 * len(texts) + some - len(records) - len(plain) - len(saved),
        "run": sum(
            record["input"] != line or of_record(record) != comparable(result)
            for record, line, result in zip(records, lines, of_lines, strict=True)
        ),
        "plain run": sum(
            (line == "") != (not result.answer) for line, result in zip(plain, of_lines[:some], strict=True)
        ),
        "SavedModel": sum(answer != comparable(result) for answer, result in zip(saved, results, strict=True)),
        "alone": sum(comparable(runtime.run([texts[number]])[0]) != comparable(results[number]) for number in alone),
    }
    return Counter((name, outcome(result)) for (name, _), result in zip(drawn, results, strict=True)), differ


def make_artefacts(home):
    """`{name: path}`: an untrained model of every kind, exported."""
    import keras

    from serving.export import Settings, export
    from zoo import models
    from zoo.depth import make_stack
    from zoo.text import Tokenizer

    keras.utils.set_random_seed(0)
    source = Tokenizer.train(["the cat sat on the mat", "a cat on a mat sat"], 40)
    target = Tokenizer.train(["le chat est sur le tapis", "un chat dort"], 40, model_type="char")
    verbatim = Tokenizer.train(["the cat sat\non the mat"] * 2, 40, verbatim=True, model_type="char")
    size = {"num_layers": 1, "units": 16, "num_heads": 2, "hidden_units": 32}
    sizes, labels = (source.vocab_size, target.vocab_size), len(LABELS)
    made = {
        "generate, GRU": (models.Seq2Seq(*sizes, units=8, attention="additive"), (source, target)),
        "generate, Transformer": (
            models.Transformer(*sizes, make_stack(**size), make_stack(**size, cross=True)),
            (source, target),
        ),
        "continue": (models.LanguageModel(verbatim.vocab_size, make_stack(**size)), (verbatim,)),
        "classify": (models.Classifier(sizes[0], labels, make_stack(**size)), (source,)),
        "compare": (models.PairClassifier(sizes[0], labels, make_stack(**size)), (source,)),
        "tag": (models.Tagger(sizes[0], labels, make_stack(**size)), (source,)),
    }
    found = {}
    for name, (model, tokenizers) in made.items():
        if not model.built:
            model.build()
        beams = (1,) if name == "continue" else (2,)
        settings = Settings(
            name.replace(", ", "-"), "benchmark", beams=beams, max_length=6, labels=LABELS, max_input=256, int8=False
        )
        found[name] = export(model, tokenizers, home, settings)
        print(f"exported {name}", file=sys.stderr)
    return found


def table(rows, columns):
    """Markdown of `{name: {column: number}}`."""
    lines = ["| | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    lines += [f"| {name} | " + " | ".join(f"{row.get(c, 0):,}" for c in columns) + " |" for name, row in rows.items()]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--home", metavar="DIR", help="keep the artefacts here, and use those that are there")
    args = parser.parse_args()
    drawn, kinds, categories, wrong = strings(args.count), {}, {}, 0
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(args.home or temporary)
        held = sorted(home.glob("*/1")) if args.home else []
        artefacts = {path.parent.name.replace("-", ", "): path for path in held} or make_artefacts(home)
        for name, path in artefacts.items():
            outcomes, differ = check(path, drawn)
            print(name, dict(differ), file=sys.stderr, flush=True)
            kinds[name] = Counter({"strings": len(drawn)})
            for (category, what), number in outcomes.items():
                kinds[name][what] += number
                categories.setdefault(category, Counter())[what] += number
                categories[category]["strings"] += number
            kinds[name].update(differ)
            wrong += sum(differ.values())
    outcomes = ["strings", "answered", "blank", "cut", "refused"]
    text = (
        f"{args.count:,} strings, of each artefact; what was compared and differs is counted on the right.\n\n"
        + table(kinds, [*outcomes, "lost", "run", "plain run", "SavedModel", "alone"])
        + "\n\nThe same by category, of all artefacts together.\n\n"
        + table(dict(sorted(categories.items())), outcomes)
        + "\n"
    )
    print(text)
    if args.count >= 10_000:
        (Path(__file__).parent / "results" / "strings.md").write_text(text, encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
