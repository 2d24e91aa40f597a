"""An artefact that an older seqzoo wrote, copied to the form that TensorFlow Serving reads: every file keeps its bytes.

In artefacts of older versions the SavedModel lies in a folder of its own, `saved_model/`; it belongs to the top.
"""

import json
import os
import shutil
from pathlib import Path

from serving.export.partial import explained, reserved
from serving.runtime.artefact import MANIFEST, OLDER, Artefact, check_files, saved_model_folder
from serving.runtime.manifest_format import DIGEST, checked, digest_of

NAMED = ("files", "sizes")  # the tables of a manifest whose keys are names of files


def copy(directory, out="artefacts", version=None):
    """Copy an artefact to `out/NAME/VERSION/`, with its SavedModel at the top, and return the path.

    Nothing is computed: the bytes of every file are those of before, and so are the parity and the scores of the
    manifest, in which only the names of files and the version change.

    Args:
        directory: an artefact with a SavedModel.
        out: the folder of all artefacts.
        version: a positive integer; None is the artefact's own, or one more than the newest where that exists.

    Raises:
        ValueError: there is no artefact, it has no SavedModel, or the version exists.
        DamagedError: a file has other bytes than the manifest records.
        ServingError: the disk is full.
    """
    source = Artefact(directory)
    manifest, directory = source.manifest, source.directory
    if saved_model_folder(directory, manifest["files"]) is None:
        raise ValueError(
            f"{directory} cannot be copied for TensorFlow Serving: expected a SavedModel, and it has none. Without "
            "--copy, `seqzoo export` makes one from its model.keras."
        )
    check_files(directory, manifest)
    home, own = Path(out) / manifest["name"], manifest["version"]
    if version is None and not (home / str(own)).exists():
        version = own
    with explained(home), reserved(home, version) as (version, partial):
        try:
            for name in manifest["files"]:
                path = partial / _moved(name)
                path.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(directory / name, path)
                _sync(path)
            text = json.dumps(_renamed(manifest, version), indent=2, ensure_ascii=False) + "\n"
            (partial / MANIFEST).write_text(text, encoding="utf-8")
            _sync(partial / MANIFEST)
            final = partial.rename(home / str(version))
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return final


def _moved(name):
    return name.removeprefix(f"{OLDER}/")


def _renamed(manifest, version):
    """The manifest with the new names and version, as it is sealed."""
    tables = {key: {_moved(name): value for name, value in manifest[key].items()} for key in NAMED}
    made = manifest | {"format": max(2, manifest["format"]), "version": version} | tables
    made.pop(DIGEST, None)
    made = json.loads(json.dumps(made))
    made[DIGEST] = digest_of(made)
    checked(made)
    return made


def _sync(path):
    with open(path, "rb") as written:
        os.fsync(written.fileno())
