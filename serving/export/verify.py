"""Checks an existing artefact again: the bytes of its files, its signatures and its answers."""

import dataclasses
import tempfile
from pathlib import Path

from serving.export import strings
from serving.export.forms import FORMS, SOURCE, forms_in
from serving.export.settings import Settings
from serving.export.shortlist import of_artefact
from serving.lazy import later
from serving.runtime.artefact import MANIFEST, check_files, read_manifest
from zoo.text import load_tokenizer

compare = later("serving.export.parity.compare")
kinds = later("serving.export.kinds")
pipeline = later("serving.export.pipeline")


def verify(directory, log=lambda stage: None):
    """The parity report of the artefact at `directory`; "extra" lists the files that its manifest does not list.

    First every file is compared with its SHA-256. Then the Keras model in the artefact runs on a grid of inputs, and a
    new process compares the other forms with its results.

    A published artefact may lack what can be made again (`left_out` in its manifest). Then all forms are made again
    from its Keras model, what it has takes the place of what was made, and this is compared; "made_again" has of
    each of its int8 graphs (how many answers to the grid of inputs are the same as those of what
    was made, how many there are).

    Raises:
        ValueError: there is no artefact, a file has other bytes than the manifest records, or `model.keras` asks for
            more than layers of Keras, of the zoo and of packages that are imported.
        ParityError: signatures or results differ.
    """
    directory = Path(directory)
    manifest = read_manifest(directory)
    log("comparing hashes")
    extra = check_files(directory, manifest)
    if extra:
        log(f"note: {MANIFEST} does not list {', '.join(extra)}; these files are never read")
    for form in forms_in(manifest["files"]):
        form.check_safe(directory)
    with compare.checker() as parity:  # its process imports TensorFlow beside this one
        return _compare(parity, directory, manifest, log) | {"extra": extra}


def _compare(parity, directory, manifest, log):
    settings = dataclasses.replace(Settings.of(manifest), shortlist=of_artefact(directory, manifest))
    kind = kinds.kind_of(SOURCE.load(directory), settings)
    tokenizers = [load_tokenizer(directory / manifest["tokenizer"][side]) for side in kind.sides]
    if manifest.get("left_out"):
        return _compare_light(parity, kind, tokenizers, directory, manifest, log)
    log("checking parity in a fresh process")
    report = parity.compare(kind, tokenizers, directory, manifest["texts"])
    if settings.strings:
        log("comparing the graphs of texts with the runtime")
        report["strings"] = strings.compare(kind, directory, manifest["texts"])
    return report


def _compare_light(parity, kind, tokenizers, directory, manifest, log):
    """The report of an artefact without the forms that can be made again."""
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        pipeline.make_again(kind, tokenizers, folder, log)
        made_again = {}
        for form in FORMS:
            made_again |= form.put_published(kind, tokenizers, directory, folder, manifest)
        log("checking parity in a fresh process")
        return parity.compare(kind, tokenizers, folder, manifest["texts"]) | {"made_again": made_again}
