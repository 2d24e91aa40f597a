"""The description of an artefact: `manifest.json` for programs, `card.md` for people."""

import json
import platform
from importlib import metadata

from serving.export.forms import forms_in, forms_to_write, titles
from serving.runtime.artefact import MANIFEST, sha256
from serving.runtime.bounds import bounds
from serving.runtime.manifest_format import DIGEST, checked, digest_of
from serving.runtime.percent import percent
from zoo.core.escaping import in_markdown
from zoo.core.storage import finite
from zoo.scores.plots import format_interval, format_score, names_with_interval, score_name

PACKAGES = ("sentencepiece", "numpy")  # of every artefact, whatever its forms


def write_manifest(kind, directory, version, parity=None, int8=None, strings=None, usual=None):
    """Write all that a program needs to use the artefact, and the SHA-256 of every file and of the manifest."""
    settings = kind.settings
    files = {
        path.relative_to(directory).as_posix(): path
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.name != MANIFEST
    }
    forms = forms_in(files)
    packages = [*(name for form in forms for name in form.packages), *PACKAGES]
    manifest = {
        "name": settings.name,
        "version": version,
        "task": settings.task,
        "kind": kind.name,
        **kind.facts(),
        "storage": settings.storage,
        "vocabulary": kind.vocabulary(),
        "signatures": [_table(kind, table) for table in (kind.table("serving_default"), *kind.signatures())],
        "tokenizer": {side: f"{side}.spm" for side in kind.sides},
        "texts": list(settings.texts),
        "ranges": settings.ranges,
        "scores": settings.scores,
        "parity": parity,
        "int8": int8,
        "versions": {name: metadata.version(name) for name in packages} | {"python": platform.python_version()},
        "files": {name: sha256(path) for name, path in files.items()},
        "sizes": {name: path.stat().st_size for name, path in files.items()},
    }
    for form in forms:
        manifest |= form.facts(kind, directory)
    optional = {form.name: form.signature_files(kind) for form in forms if form.extra is not None}
    manifest |= {"forms": optional} if optional else {}
    manifest |= {"usual": usual} if usual else {}
    if strings is not None:
        manifest["strings"] = strings
        manifest["versions"]["onnxruntime-extensions"] = metadata.version("onnxruntime-extensions")
    manifest = json.loads(json.dumps(finite(manifest)))  # the values that a reader gets: lists for tuples
    manifest[DIGEST] = digest_of(manifest)
    checked(manifest)
    text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
    (directory / MANIFEST).write_text(text, encoding="utf-8")


def _table(kind, table):
    """A signature as a dict; for inputs of ids and lengths it has their bounds, `minimum` and `maximum`."""
    signature, vocabulary = table.to_dict(), kind.vocabulary()
    for spec in signature["inputs"]:
        limits = bounds(kind.plain, table.name, spec["name"], vocabulary)
        spec |= dict(zip(("minimum", "maximum"), limits, strict=True)) if limits else {}
    return signature


def write_card(kind, directory, version, parity, int8=None, strings=None, usual=None):
    """Write `card.md`: the scores, the parity, the effects of int8, and how to use the artefact."""
    settings = kind.settings
    single = {name: value for name, value in settings.scores.items() if not isinstance(value, dict | list)}
    scores = "\n".join(f"- {_score(name, settings.scores)}" for name in single) or "- not measured"
    longer = "no answer is given" if kind.bound.overlong == "refuse" else f"the {kind.bound.side}"
    card = f"""# {settings.name}, version {version}

{settings.task}; {type(kind.model).__name__} with {kind.model.count_params():,} parameters.

## Scores
{scores}
{_storage(settings.storage)}
{write_elsewhere(settings.scores)}## Parity
{titles(forms_to_write(settings))} agree: largest difference {parity["max_abs_diff"]:.2g}. Allowed are
{parity["tolerance"]}, and as much in proportion for numbers above 1, such as the score of a long text.
Tokens, labels and texts are identical.
{_sensitivity(parity)}
{_int8(int8)}{_strings(strings)}{_usual(usual)}## Use
    seqzoo run DIR "text"
    seqzoo verify DIR

At most {kind.bound.max_input:,} tokens of a text are read; of a longer one {longer}.

The recipe that made it is `recipe.toml`; every file's SHA-256 is in `{MANIFEST}`.
"""
    (directory / "card.md").write_text(card, encoding="utf-8")


def write_elsewhere(scores):
    """The scores of other examples than the recipe's own test set as Markdown; "" where there are none."""
    rows = [
        f"| {in_markdown(name)} | {_count(own)} | {score_name(key)} | {format_score(key, own[key])} | "
        f"{format_interval(key, own)} |\n"
        for name, own in scores.get("elsewhere", {}).items()
        for key in names_with_interval(own)
    ]
    if not rows:
        return ""
    head = "| examples | how many | score | value | 95 % interval |\n|---|---|---|---|---|\n"
    return f"## On other examples\n\nOf the Keras model in float32.\n\n{head}{''.join(rows)}\n"


def _score(name, scores):
    """A fact of an evaluation, or a score with its interval."""
    if f"{name}_interval" not in scores:
        return f"{name.replace('_', ' ')}: {scores[name]}"
    return f"{score_name(name)}: {format_score(name, scores[name])} (95 %: {format_interval(name, scores)})"


def _count(scores):
    learnt = scores.get("in_training")
    return f"{scores['count']:,}" + (f", {learnt:,} of them in the training" if learnt else "")


def _sensitivity(parity):
    if "sensitivity" not in parity:
        return ""
    return f"""
This model amplifies rounding: its own numbers move by up to {parity["sensitivity"]:.2g} when each weight is replaced
by a neighbouring float32. That is why more than 0.0001 is allowed.
"""


def _storage(storage):
    if storage == "float32":
        return ""
    nearest = "the nearest number of float16"
    if storage == "int8":
        nearest = "a whole number of -127 to 127 times a power of two (of its column or row), or to the nearest float16"
    return f"""
## Storage
Each weight is rounded to {nearest}, and stored so in `model.keras` and the ONNX graphs, which compute in float32 with
these numbers. Scores of the training run were measured before the rounding.
"""


def _strings(report):
    if report is None:
        return ""
    return f"""## Texts in, texts out
{" and ".join(f"`{name}`" for name in report["graphs"])} have the tokenizers inside, as operators of
onnxruntime-extensions: of {report["texts"]} texts, odd ones among them, all have the answers of the runtime.

"""


def _usual(usual):
    if not usual:
        return "## Doubt\nToo few texts validated the model to tell what is unlike them, or an unsure answer.\n\n"
    answer = "an answer of which the\nmodel is less sure than of 98.5 % of theirs"
    answer = "a rating beyond\nall of theirs" if "ratings" in usual else answer
    return f"""## Doubt
A text that is unlike the {usual["texts"]:,} texts that validated the model has a warning; so has {answer}.

"""


def _int8(report):
    if report is None:
        return ""
    rows = [
        f"| {row['mode']} | {row['megabytes'][0]} / {row['megabytes'][1]} | "
        + " | ".join(f"{one} / {other}" for one, other in row["milliseconds"].values())
        + f" | {percent(100 * row['identical'])}% |"
        for row in report["modes"]
    ]
    batches = list(report["modes"][0]["milliseconds"])
    heads = " | ".join(f"ms, batch {batch}" for batch in batches)
    scores = "".join(
        f"- {mode}, {name}: {one} float32, {other} int8\n"
        for mode, pairs in report["scores"].items()
        for name, (one, other) in pairs.items()
    )
    bound = f" Answers have at most {report['tokens']} tokens." if "tokens" in report else ""
    return f"""## int8
float32 / int8, on {report["texts"]} texts and one thread; *identical*: answers that are the same in int8, or the
mean cosine of vectors.{bound}

| | MB | {heads} | identical |
|---|---|{"---|" * (len(batches) + 1)}
{chr(10).join(rows)}

{scores}
"""
