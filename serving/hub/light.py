"""Which files of an artefact are published, and the manifest that is true of them.

A light artefact has what a run needs (the tokenizers and the graphs that answer, in one precision) and what everything
else can be made from again: `model.keras` and `recipe.toml`. The SavedModel, the halves of generation, and the graphs
of the other precision are left out; `left_out` in the manifest names them with their SHA-256. `seqzoo verify` makes
them again from `model.keras`.
"""

import hashlib
import json

from serving.export.forms import FORMS, forms_in
from serving.kinds import KINDS
from serving.runtime.artefact import MANIFEST
from serving.runtime.manifest_format import DIGEST, checked, digest_of, int8_name

RECIPE = "recipe.toml"
CARD = "card.md"


def choose_files(manifest, precision, light=True):
    """The names of the files that are published, sorted, but for those that publishing writes anew."""
    names = set(manifest["files"]) - {CARD}
    if not light:
        return sorted(names)
    graphs = KINDS[manifest["kind"]].light_graphs(manifest).values()
    graphs = [int8_name(graph) if precision == "int8" else graph for graph in graphs]
    published = {file for form in FORMS for file in form.published_files(manifest, graphs)}
    return sorted({RECIPE, *manifest["tokenizer"].values(), *published} & names)


def rewrite_manifest(manifest, files, **changes):
    """The manifest of the files that are published.

    Args:
        manifest: of the artefact.
        files: `{name: bytes}` of all files but the manifest.
        **changes: entries that are new or others than before, such as `version`, `precision` and `scores`.

    Returns:
        The bytes of manifest.json.

    Raises:
        ValueError: the result is no sound manifest.
    """
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in sorted(files.items())}
    result = manifest | changes | {"files": digests, "sizes": {name: len(files[name]) for name in digests}}
    result["left_out"] = {name: digest for name, digest in manifest["files"].items() if name not in digests}
    result["onnx"] = {name: graph for name, graph in manifest["onnx"].items() if name in digests}
    graphs = {file for file in manifest["graphs"].values() if {file, int8_name(file)} & digests.keys()}
    result["graphs"] = {name: file for name, file in manifest["graphs"].items() if file in graphs}
    if "generation" in manifest:
        result["generation"] = {beam: file for beam, file in manifest["generation"].items() if file in graphs}
    if not set(manifest.get("shortlist", {}).get("generation", {}).values()) <= graphs:
        del result["shortlist"]
    if not set(result.get("strings", {}).get("graphs", ())) <= digests.keys():
        del result["strings"]
    if "step" not in result["graphs"]:
        result.pop("step", None)
    forms = forms_in(digests)
    result["signatures"] = [
        table for table in manifest["signatures"] if any(form.holds(table["name"], result) for form in forms)
    ]
    optional = manifest.get("forms", {})
    result["forms"] = {name: files for name, files in optional.items() if {*files.values()} <= digests.keys()}
    for key in ("left_out", "forms"):
        if not result[key]:
            del result[key]
    result.pop(DIGEST, None)
    result = json.loads(json.dumps(result))  # the values that a reader gets: lists for tuples
    result[DIGEST] = digest_of(result)
    checked(result)
    return (json.dumps(result, indent=2, ensure_ascii=False) + "\n").encode()


def list_sizes(sizes):
    """A line for each file with its bytes, the largest first, and the sum."""
    width = max(map(len, sizes))
    rows = [f"{name:<{width}}  {size:>12,}" for name, size in sorted(sizes.items(), key=lambda each: -each[1])]
    return [*rows, f"{'together':<{width}}  {sum(sizes.values()):>12,}"]


def entry_files(files, manifest):
    """(`files`, `bytes`) of an entry: of all files and of the manifest itself."""
    contents = files | {MANIFEST: manifest}
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in sorted(contents.items())}
    return hashes, {name: len(contents[name]) for name in hashes}
