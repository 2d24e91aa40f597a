"""The format of `manifest.json`: its number and the values of its keys.

Format 3 has the `weights` of a graph, and only artefacts that have them are of it; all others are of format 2.
`python -m serving.runtime.manifest_format` prints the JSON Schema, which is stored in docs/manifest.schema.json.
"""

import hashlib
import json
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from msgspec import Meta

from serving.kinds import KINDS
from serving.kinds.tag import RULES
from serving.lazy import later

documents = later("zoo.core.documents")  # a process that checks parity must not import zoo
FORMAT = 3
DIGEST = "manifest_sha256"


def text(what, pattern):
    return Annotated[str, Meta(pattern=rf"^(?:{pattern})(?![\s\S])", description=what)]


def whole(least=0, most=2**53):
    return Annotated[int, Meta(ge=least, le=most, description=f"a whole number from {least} to {most}")]


FINITE = Annotated[float, Meta(description="a finite number")]
# A part of a relative path: not empty, not "." or "..", and without slash, backslash, colon or control character.
PART = r"(?!\.{1,2}(?:/|$))[^/\\:\x00-\x1f\x7f]{1,255}"
File = text("the relative path of a file inside the artefact", rf"{PART}(?:/{PART}){{0,15}}")
Name = text("a string of 1 to 200 printable characters without slashes", r"[^/\\\x00-\x1f\x7f]{1,200}")
Sha256 = text("the 64 hexadecimal digits of a SHA-256", r"[0-9a-f]{64}")
Version = text("a version such as 1.24", r"[0-9]{1,6}(?:\.[0-9]{1,6}){0,3}")
AxisName = text("the name of an axis", r"[A-Za-z_]\w*")
Axis = Annotated[whole() | AxisName, Meta(description="the size or the name of an axis")]
Limit = Annotated[whole(-(2**31)) | AxisName, Meta(description="a whole number or the name of an axis")]
Side = Literal["source", "target"]
Some = Meta(min_length=1, description="an object of at least 1 keys")
Files = Annotated[dict[Name, File], Some]
Widths = Annotated[dict[text("a beam width", r"[1-9][0-9]{0,3}"), File], Some]
Texts = Annotated[list[str], Meta(min_length=1, description="a list of at least 1 values")]
Report = dict[str, Any] | None


class Tensor(TypedDict):
    """An input or an output of a signature."""

    name: Name
    dtype: Name
    shape: list[Axis]
    minimum: NotRequired[Limit]
    maximum: NotRequired[Limit]
    default: NotRequired[Any]


class Table(TypedDict):
    """A signature."""

    name: Name
    inputs: list[Tensor]
    outputs: list[Tensor]


class Graph(TypedDict):
    """What an ONNX graph needs."""

    opset: whole(1, 1000)
    operators: list[Name]
    onnxruntime: Version
    weights: NotRequired[File]


class Scope(TypedDict):
    """What a classifier answers to a text that is out of its scope."""

    label: str
    threshold: FINITE


class Shortlist(TypedDict):
    """Graphs that search over some of the target ids."""

    width: whole(1)
    always: whole()
    generation: Widths


class Strings(TypedDict):
    """Graphs that take and give texts."""

    graphs: Annotated[list[File], Meta(min_length=1, description="a list of at least 1 values")]
    signature: Name
    texts: whole(1)
    max_abs_diff: FINITE


class Usual(TypedDict):
    """What is usual for a model, by so many texts that validated it; see `serving.runtime.usual`."""

    texts: whole(1)
    familiarity: FINITE
    spread: NotRequired[FINITE]
    pieces: NotRequired[whole()]
    confidence: NotRequired[FINITE]
    ratings: NotRequired[Annotated[list[FINITE], Meta(min_length=2, max_length=2, description="two finite numbers")]]


class Step(TypedDict):
    """The names of the step of a search of one's own."""

    inputs: list[Name]
    outputs: list[Name]


class Manifest(TypedDict):
    """The values of a manifest; docs/artefacts.md has the meaning of each key."""

    format: whole(2, FORMAT)
    name: Name
    version: whole(1)
    task: str
    kind: Name
    max_input: whole(2, 10**6)
    overlong: Literal["refuse", "truncate"]
    storage: Literal["float32", "float16", "int8"]
    vocabulary: Annotated[dict[Side, whole(1)], Some]
    signatures: list[Table]
    graphs: Files
    onnx: dict[File, Graph]
    tokenizer: Annotated[dict[Side, File], Some]
    texts: list[str]
    ranges: dict[str, Annotated[list[FINITE], Meta(min_length=2, description="a list of at least 2 values")]]
    scores: dict[str, Any]
    parity: Report
    int8: Report
    versions: dict[str, str]
    files: Annotated[dict[File, Sha256], Some]
    sizes: Annotated[dict[File, whole()], Some]
    manifest_sha256: Sha256
    labels: NotRequired[Texts]
    words: NotRequired[Literal[RULES]]
    scope: NotRequired[Scope]
    generation: NotRequired[Widths]
    default_beam: NotRequired[whole(1, 9999)]
    max_length: NotRequired[whole(1, 10**6)]
    longest_text: NotRequired[whole(0, 10**6) | None]
    alpha: NotRequired[FINITE]
    rules: NotRequired[dict[Name, FINITE]]
    search: NotRequired[dict[Name, Any]]
    shortlist: NotRequired[Shortlist]
    strings: NotRequired[Strings]
    usual: NotRequired[Usual]
    without: NotRequired[list[str]]
    step: NotRequired[Step]
    precision: NotRequired[Literal["float32", "int8"]]
    forms: NotRequired[dict[Name, Files]]
    left_out: NotRequired[dict[File, Sha256]]
    test: NotRequired[dict[str, Any]]
    published: NotRequired[dict[str, Any]]


def checked(manifest, digest=True):
    """The manifest, after a check against the schema and of its consistency.

    Args:
        manifest: a JSON value.
        digest: compare the digest that the manifest holds of itself.

    Raises:
        Mismatch: a value is wrong; the message names the key, what was expected and what was received.
    """
    documents.check(manifest, Manifest)
    kind = KINDS.get(manifest["kind"])  # an unknown one is refused elsewhere, with its name
    for key in kind.needs if kind else ():
        if key not in manifest:
            raise documents.Mismatch(f"a manifest of kind {manifest['kind']!r} lacks {key!r}")
    _check_files(manifest)
    for key in ("labels", "without"):
        names = manifest.get(key, [])
        if len(set(names)) < len(names):
            raise documents.mismatch(key, "a list without repetitions", names)
    if "source" not in manifest["tokenizer"]:
        raise documents.Mismatch("tokenizer lacks 'source'")
    wrong = kind and kind.check(manifest)
    if wrong:
        raise documents.mismatch(*wrong)
    if digest and manifest[DIGEST] != digest_of(manifest):
        raise documents.Mismatch(f"{DIGEST} must be the SHA-256 of the other keys; a value in the manifest was changed")
    return manifest


def digest_of(manifest):
    """The SHA-256 of the manifest without its digest, serialised with sorted keys and without spaces."""
    rest = {key: value for key, value in manifest.items() if key != DIGEST}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def int8_name(graph):
    """The name of the int8 form of a graph: "model.int8.onnx" of "model.onnx"."""
    return f"{graph.removesuffix('.onnx')}.int8.onnx"


def shortlist_name(graph):
    """The name of the form of a graph that searches over a shortlist: "model.shortlist.onnx" of "model.onnx"."""
    return f"{graph.removesuffix('.onnx')}.shortlist.onnx"


def weight_files(manifest, graph):
    """The names of the files, one or none, that hold the weights of a graph beside it."""
    weights = manifest["onnx"].get(graph, {}).get("weights")
    return [weights] if weights else []


def graph_bytes(manifest):
    """`{graph: bytes}` of the graphs of a manifest, each with its weights."""
    sizes = manifest["sizes"]
    graphs = [name for name in sizes if name.endswith(".onnx")]
    return {name: sum(sizes[file] for file in (name, *weight_files(manifest, name))) for name in graphs}


def _check_files(manifest):
    """Check that every file that is used is in `files`, and so is every file with a size or an ONNX entry.

    A graph may be there in its int8 form alone, where a run uses that form unless it is told otherwise.
    """
    light = manifest.get("precision") == "int8"
    for key in ("graphs", "generation", "tokenizer"):
        for name, file in manifest.get(key, {}).items():
            forms = {file, int8_name(file)} if light and key != "tokenizer" else {file}
            if not forms & manifest["files"].keys():
                raise documents.mismatch(f"{key}.{name}", "a file that `files` lists", file)
    for key, others in (("sizes", "files"), ("vocabulary", "tokenizer")):
        if manifest[key].keys() != manifest[others].keys():
            differing = sorted(manifest[key].keys() ^ manifest[others].keys())
            raise documents.mismatch(key, f"an object with the keys of `{others}`", differing)
    used = [("a key of onnx", graph) for graph in manifest["onnx"]]
    for form, files in manifest.get("forms", {}).items():
        used += [(f"forms.{form}.{name}", file) for name, file in files.items()]
    used += [("each of strings.graphs", file) for file in manifest.get("strings", {}).get("graphs", ())]
    for graph in manifest["onnx"]:
        used += [(f"onnx.{graph}.weights", file) for file in weight_files(manifest, graph)]
    for key, file in used:
        if file not in manifest["files"]:
            raise documents.mismatch(key, "a file that `files` lists", file)


if __name__ == "__main__":
    print(json.dumps(documents.json_schema(Manifest, "manifest.json of a seqzoo artefact"), indent=2))
