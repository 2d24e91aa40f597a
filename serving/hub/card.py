"""The card of a published model: `card.md`, made of its entry, its manifest and its answers, and of nothing else.

So whoever has these three can make the card again, and compare.
"""

import math

from serving.export.forms import ALWAYS, FORMS, SOURCE, forms_in, titles
from serving.export.manifest import write_elsewhere
from serving.hub.published import CARD, OUTPUTS
from serving.kinds import KINDS
from serving.runtime.artefact import MANIFEST
from zoo import scores as scoring
from zoo.core.escaping import in_markdown, in_markdown_code
from zoo.scores.plots import format_interval, format_score, names_with_interval, score_name
from zoo.tasks.parts.task import one_line

WORST = 5  # answers that are shown
WIDTH = 200  # characters of a text
LANGUAGE_MODEL = "language_model"
UNKNOWN = "nobody has measured how it treats other texts"
TELLING = ("chrf", "per", "accuracy")  # of one answer, where a score such as F1 says 0 or nothing


def card(entry, manifest, answers, recipe):
    """The text of the card.

    Args:
        entry: of the index; its `files`, `bytes` and `withdrawn` are not used.
        manifest: of the published artefact.
        answers: (inputs, references, outputs).
        recipe: its recipe.
    """
    model = f"{entry['name']}@{entry['version']}"
    parts = [
        f"# {model}\n\n{in_markdown(entry['description'])}",
        _architecture(entry),
        _licences(entry),
        _scores(entry, manifest, model),
        write_elsewhere(manifest["scores"]).rstrip("\n"),
        _parity(entry, model),
        _speed(entry, manifest),
        _training(manifest),
        _limits(manifest),
        _failures(answers, recipe),
        _use(entry, manifest),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _architecture(entry):
    slots = ("system", "cell", "attention", "feedforward", "block", "depth")
    rows = [f"| {slot} | {in_markdown(entry[slot])} |" for slot in slots if entry[slot] is not None]
    languages = in_markdown(", ".join(entry["languages"])) or "none"
    return "\n".join(
        [
            "## What it is",
            "",
            "| | |",
            "|---|---|",
            f"| task | {in_markdown(entry['task'])} |",
            f"| languages | {languages} |",
            *rows,
            f"| parameters | {entry['parameters']:,} |",
            f"| published | {in_markdown(entry['published'])} |",
            "",
            "Every setting is in `recipe.toml`, every file's SHA-256 in `manifest.json`.",
        ]
    )


def _licences(entry):
    data = entry["data_licence"] if isinstance(entry["data_licence"], str) else "; ".join(entry["data_licence"])
    attribution = f"\n\nAttribution: {in_markdown(entry['attribution'])}" if entry["attribution"] else ""
    weights, data = in_markdown(entry["licence"]), in_markdown(f"{entry['data']}, {data}")
    return f"## Licences\n\nWeights: {weights}. Data: {data}.{attribution}"


def _scores(entry, manifest, model):
    """The numbers of the entry, each with its interval and the command that measures it again."""
    test, scores = manifest["test"], entry["scores"]
    count = f"{test['count']:,}"
    lines = [
        "## Scores",
        "",
        f"Of {count} answers of this artefact itself ({in_markdown(test['precision'])}, one thread) to the split "
        f"{in_markdown_code(test['split'])}, which are beside it in `{OUTPUTS}`. "
        "The intervals are of 1,000 bootstrap resamples, at 95 %.",
    ]
    if test["split"] == "valid":
        lines.append("The weights were chosen on this split: on other data the scores may be lower.")
    lines += ["", "| score | value | 95 % interval | measured again by |", "|---|---|---|---|"]
    command = f"`seqzoo hub card {model} --check --only scores`"
    for name in names_with_interval(scores):
        value, interval = format_score(name, scores[name]), format_interval(name, scores)
        lines.append(f"| {score_name(name)} | {value} | {interval} | {command} |")
    signatures = [in_markdown_code(own) for name, own in manifest["scores"].items() if name.endswith("_signature")]
    lines += ["", f"Signatures: {', '.join(signatures)}."] if signatures else []
    both = [(name, *pair) for name, pair in test["float32_int8"].items()]
    if both:
        default = "int8 is the default, because it loses nothing" if entry["int8"] else "float32 is the default"
        lines += ["", f"{default}: the paired bootstrap of the two on the same questions, at p < 0.05.", ""]
        lines += [
            f"- {score_name(name)}: {format_score(name, a)} float32, {format_score(name, b)} int8"
            for name, a, b in both
        ]
    lines += ["", f"`seqzoo hub card {model} --check --only answers` asks the artefact all questions again."]
    return "\n".join(lines)


def _parity(entry, model):
    parity = entry["parity"]
    return (
        f"## Parity\n\n{titles(ALWAYS)} differ by at most {parity['max_abs_diff']:.2g}. Allowed are "
        f"{parity['tolerance']}, and as much in proportion for numbers above 1, such as the score of a long text. "
        f"Tokens, labels and texts are the same.{_sensitivity(parity)} "
        f"To make the other forms again from `{SOURCE.file}` and compare them: "
        f"`seqzoo hub card {model} --check --only parity`."
    )


def _sensitivity(parity):
    if "sensitivity" not in parity:
        return ""
    difference = f"{parity['sensitivity']:.2g}"
    return (
        f" This model amplifies rounding: its own numbers move by up to {difference} when each weight is replaced by a "
        "neighbouring float32, which is why more than 0.0001 is allowed."
    )


def _speed(entry, manifest):
    speed, sizes = entry["speed"], manifest["sizes"]
    lines = ["## Speed and size", ""]
    if speed:
        lines.append(
            f"{speed['milliseconds']} ms for one text of the test set (median; {in_markdown(speed['precision'])}, "
            f"one thread, {in_markdown(speed['processor'])}). `seqzoo bench` measures it on yours."
        )
    names = sorted(sizes.keys() - {CARD, MANIFEST})
    rows = [f"| {in_markdown(name)} | {sizes[name]:,} |" for name in names]
    return "\n".join([*lines, "", "| file | bytes |", "|---|---|", *rows])


def _training(manifest):
    training = manifest["published"]["training"]
    if not training:
        return ""
    lines = ["## Training", ""]
    if "core_hours" in training:
        lines.append(f"{training['core_hours']:.3g} core-hours.")
    elif "training_seconds" in training:
        lines.append(
            f"{training['training_seconds'] / 3600:.3g} hours of {in_markdown(training.get('backend', 'training'))}."
        )
    if "steps" in training:
        lines.append(f"{training['steps']:,} steps.")
    if "lora" in training:
        own = training["lora"]
        lines.append(f"Adapters of rank {own['rank']} (LoRA) for {len(own['layers'])} layers, merged into the weights.")
    if "data_sha256" in training:
        lines.append(f"SHA-256 of the training data: {in_markdown_code(training['data_sha256'])}.")
    return "\n".join(lines)


def _limits(manifest):
    longer = "no answer is given" if manifest["overlong"] == "refuse" else "a part is read, and a warning given"
    lines = ["## Limits", "", f"At most {manifest['max_input']:,} tokens of a text are read; of a longer one {longer}."]
    if manifest.get("max_length"):
        lines.append(f"At most {manifest['max_length']:,} tokens are written at once.")
    others = "how it does on others is above" if "elsewhere" in manifest["scores"] else UNKNOWN
    lines.append(f"It knows what is like its training data; {others}.")
    return "\n".join(lines)


def _failures(answers, recipe):
    rows = worst(answers, recipe)
    if not rows:
        if recipe.job.choose_scoring(recipe, answers[1])[0] == "similarity":
            return "## Known failures\n\nNone is named: a rank correlation is of all pairs together."
        return "## Known failures\n\nNone among the answers to the test set."
    lines = ["## Known failures", "", "The worst of its answers to the test set:", ""]
    for row, value, name in rows:
        one, reference, output = (column[row] for column in answers)
        lines.append(f"- {score_name(name)} {format_score(name, value)}, example {row + 1:,}")
        lines.append(f"    - input: {_quote(one_line(one))}")
        if reference:
            lines.append(f"    - expected: {_quote(' or '.join(_list_answers(reference)))}")
        if isinstance(output, str):
            lines.append(f"    - answer: {_quote(output)}")
    return "\n".join(lines)


def worst(answers, recipe):
    """[(the number of the example, its score, the name of the score)] of the worst answers that are not right."""
    inputs, references, outputs = answers
    evaluation = recipe.job.assess(recipe, inputs, outputs, references)
    is_right = [
        one in _list_answers(other) for one, other in zip(evaluation.outputs, evaluation.references, strict=False)
    ]
    score = _score(recipe, evaluation)
    values = score.value(score.statistics[score.rows])
    sign = -1 if score.higher_is_better else 1
    bad = [row for row, value in enumerate(values) if math.isfinite(value) and not (is_right and is_right[row])]
    ranked = sorted(bad, key=lambda row: (-sign * values[row], row))
    return [(row, float(values[row]), score.name) for row in ranked[:WORST]]


def _score(recipe, evaluation):
    """The score by which single answers are compared, if there is one that tells near from far."""
    name, options = recipe.job.choose_scoring(recipe, evaluation.references)
    if name == LANGUAGE_MODEL:
        return scoring.language_model_scores(**evaluation.measured)[0]
    if name == "out_of_scope":  # a wrong label is a failure, whether it is in scope or not
        name, options = "classification", {}
    scores = scoring.TASKS[name](evaluation.outputs, evaluation.references, **options)
    return next((each for each in scores if each.name in TELLING), scores[0])


def _list_answers(reference):
    """The right answers: the only one, or several."""
    return reference if isinstance(reference, list) else [reference]


def _quote(text):
    text = " ".join(text.replace("\t", "  |  ").split("\n"))
    return in_markdown_code(text if len(text) <= WIDTH else text[: WIDTH - 3] + "...")


def _use(entry, manifest):
    name = entry["name"]
    sampled = " --sample" if KINDS[entry["kind"]].prompts else ""
    forms = forms_in(manifest["files"])
    uses = " ".join(filter(None, (form.describe_use(name, form in forms) for form in FORMS)))
    return f"""## Use

```sh
seqzoo run {name} "text"{sampled}
```

```python
from serving import Runtime

runtime = Runtime("{name}")  # ONNX Runtime, no TensorFlow
print(runtime.run(["text"])[0].answer)
```

```python
import zoo

model = zoo.load("{name}")  # the Keras model
```

{uses}"""
