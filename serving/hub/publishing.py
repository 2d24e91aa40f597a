"""Publishing: what an export wrote and checked becomes a version of a model in a hub."""

import datetime
import hashlib
import json
from pathlib import Path

from serving.export.forms import SOURCE, forms_in
from serving.hub import facts as facts_of, published, shelf
from serving.hub.card import card
from serving.hub.measure import TestSet, measure
from serving.runtime.artefact import MANIFEST, Artefact, check_files
from serving.runtime.errors import ParityError
from zoo.core.storage import sync_folder, write_bytes
from zoo.hub import index as hub_index
from zoo.recipes import check_run, dumps
from zoo.recipes.evaluations import finite_scores
from zoo.recipes.files import read_stored
from zoo.recipes.folder import tokenizer_names
from zoo.tasks.parts import corpora

LARGE = 5_000_000  # bytes, above which it is told that a model is larger than most
WHOLE = 100_000_000  # bytes of a whole hub


def publish(artefact, run, hub, facts, *, light=True, test=None, version=None, log=lambda line: None):
    """Publish an artefact in the folder of a hub, and return its entry.

    The artefact answers the test set, and these answers are stored beside it; its scores are theirs. Its files are
    written beside their place and renamed; the index is replaced last. Nothing that is published is ever changed.

    Args:
        artefact: the directory that `serving.export` wrote, `NAME/VERSION`.
        run: the run that it was exported from.
        hub: the folder of the hub, which is made where there is none.
        facts: `Facts`, what only people know.
        light: leave out what can be made again, see `serving.hub.published`.
        test: the `TestSet`; by default the recipe's own.
        version: a positive integer; by default the artefact's.
        log: a function that is called with a line about each stage.

    Raises:
        ValueError: it is of another run, has no test set, or its version or its weights are published or withdrawn.
        ParityError: its parity was not checked, or failed.
        DamagedError: a file of it, or the index, has other bytes than it should.
    """
    source, run, hub = Artefact(artefact), Path(run), Path(hub)
    manifest, recipe = source.manifest, check_run(run)
    name, version = manifest["name"], version or manifest["version"]
    hub_index.split(f"{name}@{version}")  # refuses a name that is not safe in a hub
    check_parity(source.directory, manifest)
    check_files(source.directory, manifest)
    _check_same(source, recipe, run)
    for form in forms_in(manifest["files"]):
        form.check_safe(source.directory)
    shelf.check_free(hub, name, version, manifest["files"][SOURCE.file])
    split, examples = (test or TestSet()).read(recipe)
    measurement = measure(source.directory, recipe, examples, log)

    files = {each: source.read(each) for each in published.choose_files(manifest, measurement.precision, light)}
    files["recipe.toml"] = dumps(facts_of.without_places(recipe)).encode()
    inputs, references = measurement.questions
    files[published.OUTPUTS] = published.pack_outputs(inputs, references, measurement.outputs)
    entry = _make_entry(source, recipe, facts, measurement) | {"version": version}
    changes = _manifest_changes(entry, measurement, split, facts_of.training(run, facts))
    log("writing the card")
    draft = json.loads(published.rewrite_manifest(manifest, files, **changes))  # all but the card itself
    files[published.CARD] = card(entry, draft, (inputs, references, measurement.outputs), recipe).encode()
    content = published.rewrite_manifest(manifest, files, **changes)
    contents = files | {MANIFEST: content}
    entry["files"] = {each: hashlib.sha256(contents[each]).hexdigest() for each in sorted(contents)}
    entry["bytes"] = {each: len(contents[each]) for each in entry["files"]}
    entry["requires"] = facts_of.find_requirements(json.loads(content))
    _log_sizes(entry["bytes"], hub, log)
    with shelf.staging(hub, name, version) as folder:
        for each, data in contents.items():
            write_bytes(folder / each, data)
        for each in {path.parent for path in folder.rglob("*")}:
            sync_folder(each)
        shelf.add(hub, folder, entry)
    return entry


def check_parity(directory, manifest):
    """Refuse an artefact whose forms were not compared, or do not agree.

    Raises:
        ParityError: there is no report, or it does not say that the parity holds.
    """
    report = manifest["parity"]
    if not report:
        raise ParityError(
            f"{directory} has no report of parity: nobody compared its ONNX graphs with its Keras model. Export it "
            "again with `seqzoo export`, which compares them."
        )
    difference, allowed = report.get("max_abs_diff"), report.get("tolerance")
    are_numbers = type(difference) in (int, float) and type(allowed) in (int, float)
    if report.get("passed") is not True or not are_numbers:
        raise ParityError(
            f"The parity of {directory} failed: the largest difference is {difference}, allowed is {allowed}, and "
            f"passed is {report.get('passed')}. Export it again with `seqzoo export`."
        )


def _check_same(source, recipe, run):
    """Refuse an artefact that was exported from another run.

    Recipes are compared, not their texts: a setting that is newer than an artefact does not stand in its file.
    """
    source.read("recipe.toml")  # checks its hash
    differ = ["recipe.toml"] if read_stored(source.directory / "recipe.toml") != recipe else []
    for name in tokenizer_names(recipe):
        if name not in source.manifest["files"] or source.read(name) != (run / name).read_bytes():
            differ.append(name)
    if differ:
        raise ValueError(
            f"{source.directory} was not exported from {run}: {' and '.join(differ)} differ. Name the run with --run, "
            f"or export it with `seqzoo export {run} --out DIR`."
        )


def _make_entry(source, recipe, facts, measurement):
    """The entry of the index, but for `version`, `files`, `bytes` and `requires`."""
    manifest, parity = source.manifest, source.manifest["parity"]
    elsewhere = manifest["scores"].get("elsewhere")  # which the export took from the run
    model = SOURCE.load(source.directory)
    licences = list(facts.data_licence)
    return {
        "name": manifest["name"],
        "version": manifest["version"],
        **facts_of.architecture(recipe),
        "task": recipe.task,
        "kind": manifest["kind"],
        "languages": list(dict.fromkeys(facts.languages or filter(None, recipe.languages))),
        "description": recipe.description or f"{recipe.title}.",
        "licence": facts.licence,
        "data": facts.data,
        "data_licence": licences[0] if len(licences) == 1 else licences,
        "attribution": facts.attribution,
        "parameters": int(model.count_params()),
        "bytes": {},
        "files": {},
        "scores": finite_scores(measurement.evaluation.scores),
        "parity": {key: parity[key] for key in ("max_abs_diff", "tolerance", "sensitivity") if key in parity},
        "int8": measurement.int8,
        "speed": measurement.speed,
        "requires": {},
        "published": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "withdrawn": None,
    } | ({"elsewhere": elsewhere} if elsewhere else {})


def _manifest_changes(entry, measurement, split, training):
    """What the manifest of the published artefact says otherwise than that of the export."""
    evaluation = measurement.evaluation
    signatures = {key: value for key, value in evaluation.scores.items() if isinstance(value, str)}
    digest = corpora.digest(evaluation.inputs, evaluation.references)
    stated = ("languages", "licence", "data", "data_licence", "attribution", "description", "published", "speed")
    return {
        "version": entry["version"],
        "precision": measurement.precision,
        "scores": entry["scores"] | signatures | ({"elsewhere": entry["elsewhere"]} if "elsewhere" in entry else {}),
        "test": {
            "split": split,
            "count": len(measurement.questions[0]),
            "sha256": digest,
            "precision": measurement.precision,
            "float32_int8": measurement.compared,
        },
        "published": {key: entry[key] for key in (*stated, "parameters")} | {"training": training},
    }


def _log_sizes(sizes, hub, log):
    """Print the bytes, and warn of what is larger than it should be."""
    width = max(map(len, sizes))
    for name, size in sorted(sizes.items(), key=lambda each: -each[1]):
        log(f"{name:<{width}}  {size:>12,}")
    own, others = sum(sizes.values()), sum(path.stat().st_size for path in hub.rglob("*") if path.is_file())
    log(f"{'together':<{width}}  {own:>12,}")
    if own > LARGE:
        log(f"warning: {own / 1e6:.1f} MB is more than the {LARGE / 1e6:.0f} MB that a model should have at most")
    if own + others > WHOLE:
        log(f"warning: with it {hub} has {(own + others) / 1e6:.1f} MB, more than the {WHOLE / 1e6:.0f} MB of a hub")
