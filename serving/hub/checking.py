"""`seqzoo hub card NAME --check`: every number of a card is measured again, from what is published alone."""

import hashlib
import importlib.util
import json
import math
from dataclasses import dataclass
from pathlib import Path

from serving.export.forms import SOURCE
from serving.hub import PARTS
from serving.hub.card import card
from serving.hub.published import CARD, OUTPUTS, artefact_of, open_model, unpack_outputs
from serving.lazy import later
from serving.runtime import Runtime
from serving.runtime.artefact import read_inside
from serving.runtime.errors import DamagedError, ServingError
from zoo.recipes import evaluations, read
from zoo.recipes.files import read_stored
from zoo.scores.plots import names_with_interval
from zoo.tasks.parts import corpora

verifying = later("serving.export.again")

SAME = 1e-6  # relative difference of scores that are computed from the same answers
NEAR = 1e-3  # of log-probabilities, which another processor rounds otherwise
OTHERS = 0.01  # share of answers that another processor may give otherwise, where two tokens are nearly as likely


@dataclass(frozen=True)
class Row:
    """One number of a card: as it is stated, as it was measured, and whether the two agree (None: it was not asked)."""

    part: str
    what: str
    stated: object
    measured: object
    equal: bool | None


def check(folder, entry, parts=PARTS, data=None, log=lambda line: None):
    """Measure again what the card of a published version says.

    Args:
        folder: its files, `NAME/VERSION` of a hub or of the cache.
        entry: of the index.
        parts: some of `PARTS`.
        data: the folder or file that the test set came from, to compare the stored questions with.
        log: a function that is called with a line about each part.

    Returns:
        A list of `Row`.
    """
    unknown = [each for each in parts if each not in PARTS]
    if unknown:
        raise ValueError(f"Expected parts among {', '.join(PARTS)}; received {unknown[0]!r}.")
    published = Published(folder, entry, log)
    rows = published.check_files()
    if not all(row.equal for row in rows):
        return rows  # what was changed is not run
    rows = rows if "files" in parts else []
    measures = {
        "scores": published.check_scores,
        "answers": published.ask_again,
        "parameters": published.check_parameters,
    }
    measures |= {"parity": published.check_parity, "card": published.check_card}
    measures |= {"data": lambda: published.check_questions(data)} if data else {}
    for part, measure in measures.items():
        if part in parts:
            log(f"checking {part}")
            rows += measure()
    return rows


def record(name, hub=None):
    """The answers of a published model as `zoo.recipes.evaluations` keeps those of a run, for comparisons.

    Args: as of `serving.hub.published.open_model`.
    """
    entry, folder = open_model(name, hub)
    published = Published(folder, entry)
    published.open()
    recipe, (inputs, references, outputs) = published.recipe, published.answers
    evaluation = recipe.job.assess(recipe, inputs, outputs, references)
    return evaluations.record(recipe, published.manifest["test"]["split"], evaluation)


def write_table(rows):
    """The rows as lines of a table, and a verdict."""
    words = {True: "equal", False: "NOT EQUAL", None: "not measured"}
    cells = [("part", "what", "stated", "measured", "")]
    cells += [(row.part, row.what, _shorten(row.stated), _shorten(row.measured), words[row.equal]) for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    different = sum(row.equal is False for row in rows)
    verdict = f"{different} of {len(rows)} numbers differ" if different else f"all {len(rows)} numbers hold"
    return "\n".join([*lines, verdict])


def _shorten(value):
    text = f"{value:.6g}" if isinstance(value, float) else "" if value is None else str(value)
    return text if len(text) <= 48 else f"{text[:20]}...{text[-20:]}"


class Published:
    """The published files of a version, of which each method checks one part.

    Args: as of `check`.
    """

    def __init__(self, folder, entry, log=lambda line: None):
        self.folder, self.entry, self.log = Path(folder), entry, log
        self.artefact = self.manifest = None

    def open(self):
        """Read the manifest, which must be the one of the index.

        Raises:
            DamagedError: it is another one, or does not fit the index.
        """
        self.artefact = artefact_of(self.folder, self.entry)
        self.manifest = self.artefact.manifest

    def check_files(self):
        """Every file that the index lists, by its SHA-256, and that the manifest lists the same."""
        rows = []
        for name, digest in sorted(self.entry["files"].items()):
            try:
                content = read_inside(self.folder, name, self.entry["bytes"][name])
                received = hashlib.sha256(content).hexdigest()
            except DamagedError as error:
                received = str(error)
            rows.append(Row("files", f"SHA-256 of {name}", digest, received, received == digest))
        if all(row.equal for row in rows):
            self.open()
            titles = [f"{each['name']}@{each['version']}" for each in (self.entry, self.manifest)]
            rows.append(Row("files", "name and version in the manifest", *titles, titles[0] == titles[1]))
            stated = self.entry["parity"]
            own = {key: (self.manifest["parity"] or {}).get(key) for key in stated}
            rows.append(Row("files", "parity in the manifest", json.dumps(stated), json.dumps(own), stated == own))
        return rows

    @property
    def recipe(self):
        self.artefact.read("recipe.toml")  # compared with its SHA-256
        return read_stored(self.folder / "recipe.toml")

    @property
    def answers(self):
        return unpack_outputs(self.artefact.read(OUTPUTS), self.folder / OUTPUTS)

    def check_scores(self):
        """The scores of the stored answers."""
        inputs, references, outputs = self.answers
        again = evaluations.finite_scores(self.recipe.job.assess(self.recipe, inputs, outputs, references).scores)
        stated = self.entry["scores"]
        return [
            Row("scores", name, stated.get(name), again.get(name), _is_close(stated.get(name), again.get(name), SAME))
            for name in {**stated, **again}
        ]

    def ask_again(self):
        """The outputs of the artefact, asked again, and the scores of these."""
        recipe, (inputs, references, outputs) = self.recipe, self.answers
        runtime = Runtime(self.folder, precision=self.manifest["test"]["precision"], threads=1)
        answers = recipe.job.respond(recipe, runtime, inputs, references)
        same = sum(_is_alike(*pair) for pair in zip(outputs, answers, strict=True))
        enough = same >= _least_same(len(outputs))
        rows = [Row("answers", "answers that are the same", len(outputs), same, enough)]
        again, stated = recipe.job.assess(recipe, inputs, answers, references).scores, self.entry["scores"]
        for name in names_with_interval(stated):
            low, high = stated[f"{name}_interval"]
            value, edge = again[name], SAME * max(1.0, abs(stated[name]))
            rows.append(Row("answers", f"{name} of them", stated[name], value, low - edge <= value <= high + edge))
        return rows

    def check_parameters(self):
        """The weights of the Keras model."""
        if importlib.util.find_spec("keras") is None:
            return [Row("parameters", "parameters", self.entry["parameters"], "Keras is not installed", None)]
        self._check_source()
        count = int(SOURCE.load(self.folder).count_params())
        return [Row("parameters", "parameters", self.entry["parameters"], count, count == self.entry["parameters"])]

    def check_parity(self):
        """The forms of the model, made again where they are not published."""
        stated = self.entry["parity"]
        if importlib.util.find_spec("tensorflow") is None:
            return [Row("parity", "largest difference", stated["max_abs_diff"], "TensorFlow is not installed", None)]
        self._check_source()
        try:
            report = verifying.verify(self.folder, log=self.log)
        except ServingError as error:
            return [Row("parity", "largest difference", stated["max_abs_diff"], str(error), False)]
        difference = report["max_abs_diff"]
        rows = [Row("parity", "largest difference", stated["max_abs_diff"], difference, report["passed"])]
        for name, (same, count) in report.get("made_again", {}).items():
            rows.append(Row("parity", f"{name}, made again: same answers", count, same, same >= _least_same(count)))
        return rows

    def check_card(self):
        """The card, made again from entry, manifest and answers."""
        stated = self.artefact.read(CARD).decode()
        expected = card(self.entry, self.manifest, self.answers, self.recipe)
        differ = sum(one != other for one, other in zip(stated.split("\n"), expected.split("\n"), strict=False))
        differ += abs(stated.count("\n") - expected.count("\n"))
        return [Row("card", "lines of card.md that differ", 0, differ, differ == 0)]

    def check_questions(self, data):
        """Whether the stored questions and references are those of the split in a corpus."""
        recipe, (inputs, references, _) = self.recipe, self.answers
        stored = (["".join(inputs)], [""]) if recipe.data.windows else (inputs, references)
        examples = read(recipe, self.manifest["test"]["split"], data)
        digests = [corpora.digest(*each)[:16] for each in (stored, examples)]
        return [Row("data", "SHA-256 of the test set", *digests, digests[0] == digests[1])]

    def _check_source(self):
        """Check the bytes of the model that the other forms are made from, and that loading it runs no program."""
        self.artefact.read(SOURCE.file)  # compared with its SHA-256
        SOURCE.check_safe(self.folder)


def _least_same(count):
    """How many of so many answers must be the same; of fewer than 100 one may be another."""
    return count - math.ceil(OTHERS * count)


def _is_close(one, other, share):
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(_is_close(*pair, share) for pair in zip(one, other, strict=True))
    if one is None or other is None or isinstance(one, list) or isinstance(other, list):
        return False
    return abs(one - other) <= share * max(1.0, abs(one))


def _is_alike(one, other):
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_is_close(one[key], other[key], NEAR) for key in one)
    return one == other
