"""The format of `manifest.json`: its number and the values of its keys.

Format 3 has the `weights` of a graph, and only artefacts that have them are of it; all others are of format 2.
`python -m serving.runtime.manifest_format` prints the JSON Schema, which is stored in docs/manifest.schema.json.
"""

import hashlib
import json

from serving.runtime.schema import (
    Anything,
    Either,
    Integer,
    List,
    Map,
    Mismatch,
    Nullable,
    Number,
    Record,
    Text,
    mismatch,
)

FORMAT = 3
DIGEST = "manifest_sha256"

# A part of a relative path: not empty, not "." or "..", and without slash, backslash, colon or control character.
PART = r"(?!\.{1,2}(?:/|$))[^/\\:\x00-\x1f\x7f]{1,255}"
FILE = Text("the relative path of a file inside the artefact", rf"{PART}(?:/{PART}){{0,15}}")
NAME = Text("a string of 1 to 200 printable characters without slashes", r"[^/\\\x00-\x1f\x7f]{1,200}")
SHA256 = Text("the 64 hexadecimal digits of a SHA-256", r"[0-9a-f]{64}")
BEAM = Text("a beam width", r"[1-9][0-9]{0,3}")
VERSION = Text("a version such as 1.24", r"[0-9]{1,6}(?:\.[0-9]{1,6}){0,3}")
SIDE = Text("'source' or 'target'", "source|target")
LENGTH = Integer(1, 10**6)

AXIS = Either("the size or the name of an axis", (Integer(), Text(pattern=r"[A-Za-z_]\w*")))
BOUND = Either("a whole number or the name of an axis", (Integer(-(2**31)), Text(pattern=r"[A-Za-z_]\w*")))
TENSOR = Record(
    {"name": NAME, "dtype": NAME, "shape": List(AXIS)}, {"minimum": BOUND, "maximum": BOUND, "default": Anything()}
)
TABLE = Record({"name": NAME, "inputs": List(TENSOR), "outputs": List(TENSOR)})
GRAPH = Record(
    {"opset": Integer(1, 1000), "operators": List(NAME, unique=True), "onnxruntime": VERSION}, {"weights": FILE}
)

REQUIRED = {
    "format": Integer(2, FORMAT),
    "name": NAME,
    "version": Integer(1),
    "task": Text(),
    "kind": NAME,
    "max_input": Integer(2, 10**6),
    "overlong": Text("'refuse' or 'truncate'", "refuse|truncate"),
    "storage": Text("'float32', 'float16' or 'int8'", "float32|float16|int8"),
    "vocabulary": Map(SIDE, Integer(1), least=1),
    "signatures": List(TABLE),
    "graphs": Map(NAME, FILE, least=1),
    "onnx": Map(FILE, GRAPH),
    "tokenizer": Map(SIDE, FILE, least=1),
    "texts": List(Text()),
    "ranges": Map(Text("a key of a product"), List(Number(), least=2)),
    "scores": Map(Text(), Anything()),
    "parity": Nullable(Map(Text(), Anything())),
    "int8": Nullable(Map(Text(), Anything())),
    "versions": Map(Text(), Text()),
    "files": Map(FILE, SHA256, least=1),
    "sizes": Map(FILE, Integer(), least=1),
    DIGEST: SHA256,
}
OPTIONAL = {
    "labels": List(Text(), least=1, unique=True),
    "scope": Record({"label": Text(), "threshold": Number()}),
    "generation": Map(BEAM, FILE, least=1),
    "default_beam": Integer(1, 9999),
    "max_length": LENGTH,
    "longest_text": Nullable(Integer(0, 10**6)),
    "alpha": Number(),
    "rules": Map(NAME, Number()),
    "search": Map(NAME, Anything()),
    "shortlist": Record({"width": Integer(1), "always": Integer(), "generation": Map(BEAM, FILE, least=1)}),
    "strings": Record(
        {"graphs": List(FILE, least=1), "signature": NAME, "texts": Integer(1), "max_abs_diff": Number()}
    ),
    "without": List(Text("a choice of graphs"), unique=True),
    "step": Record({"inputs": List(NAME), "outputs": List(NAME)}),
    "precision": Text("'float32' or 'int8'", "float32|int8"),
    "forms": Map(NAME, Map(NAME, FILE, least=1)),
    "left_out": Map(FILE, SHA256),
    "test": Map(Text(), Anything()),
    "published": Map(Text(), Anything()),
}
SCHEMA = Record(REQUIRED, OPTIONAL)
WRITING = ("generation", "default_beam", "max_length", "alpha", "rules")
OF_KIND = {  # further required keys of each kind; an unknown kind is refused elsewhere, with its name
    "generate": WRITING,
    "continue": WRITING,
    "classify": ("labels",),
    "compare": ("labels",),
    "tag": ("labels",),
    "embed": (),
}
IN_GRAPHS = {kind: kind for kind in OF_KIND if OF_KIND[kind] != WRITING}  # the signature that each of these kinds runs


def parse(content):
    """The JSON value of bytes. A repeated key is refused, and so is what Python accepts beyond JSON, such as NaN.

    Raises:
        ValueError: the bytes are not such a JSON document; the message says why.
    """
    try:
        return json.loads(content.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _once(pairs):
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} occurs twice in one object")
    return found


def _no_constant(name):
    raise ValueError(f"{name} is not a number in JSON")


def checked(manifest, digest=True):
    """The manifest, after a check against the schema and of its consistency.

    Args:
        manifest: a JSON value.
        digest: compare the digest that the manifest holds of itself.

    Raises:
        Mismatch: a value is wrong; the message names the key, what was expected and what was received.
    """
    SCHEMA.check(manifest, "")
    for key in OF_KIND.get(manifest["kind"], ()):
        if key not in manifest:
            raise Mismatch(f"a manifest of kind {manifest['kind']!r} lacks {key!r}")
    _check_files(manifest)
    _check_kind(manifest)
    if digest and manifest[DIGEST] != digest_of(manifest):
        raise Mismatch(f"{DIGEST} must be the SHA-256 of the other keys; a value in the manifest was changed")
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


def weights_of(manifest, graph):
    """The names of the files, one or none, that hold the weights of a graph beside it."""
    weights = manifest["onnx"].get(graph, {}).get("weights")
    return [weights] if weights else []


def graph_bytes(manifest):
    """`{graph: bytes}` of the graphs of a manifest, each with its weights."""
    sizes = manifest["sizes"]
    graphs = [name for name in sizes if name.endswith(".onnx")]
    return {name: sum(sizes[file] for file in (name, *weights_of(manifest, name))) for name in graphs}


def _check_files(manifest):
    """Check that every file that is used is in `files`, and so is every file with a size or an ONNX entry.

    A graph may be there in its int8 form alone, where a run uses that form unless it is told otherwise.
    """
    light = manifest.get("precision") == "int8"
    for key in ("graphs", "generation", "tokenizer"):
        for name, file in manifest.get(key, {}).items():
            forms = {file, int8_name(file)} if light and key != "tokenizer" else {file}
            if not forms & manifest["files"].keys():
                raise mismatch(f"{key}.{name}", "a file that `files` lists", file)
    for key, others in (("sizes", "files"), ("vocabulary", "tokenizer")):
        if manifest[key].keys() != manifest[others].keys():
            differing = sorted(manifest[key].keys() ^ manifest[others].keys())
            raise mismatch(key, f"an object with the keys of `{others}`", differing)
    for file in manifest["onnx"]:
        if file not in manifest["files"]:
            raise mismatch("a key of onnx", "a file that `files` lists", file)
    for form, files in manifest.get("forms", {}).items():
        for name, file in files.items():
            if file not in manifest["files"]:
                raise mismatch(f"forms.{form}.{name}", "a file that `files` lists", file)
    for file in manifest.get("strings", {}).get("graphs", ()):
        if file not in manifest["files"]:
            raise mismatch("strings.graphs", "files that `files` lists", file)
    for graph, entry in manifest["onnx"].items():
        if entry.get("weights", graph) not in manifest["files"]:
            raise mismatch(f"onnx.{graph}.weights", "a file that `files` lists", entry["weights"])


def _check_kind(manifest):
    kind = manifest["kind"]
    if "source" not in manifest["tokenizer"]:
        raise Mismatch("tokenizer lacks ['source']")
    if kind in IN_GRAPHS and IN_GRAPHS[kind] not in manifest["graphs"]:
        raise Mismatch(f"graphs lacks {[IN_GRAPHS[kind]]}, which the kind {kind!r} runs")
    if OF_KIND.get(kind) != WRITING:
        return
    held = set(manifest["graphs"].values())
    searches = {"generation": manifest["generation"]}
    searches["shortlist.generation"] = manifest.get("shortlist", {}).get("generation", {})
    for key, beam, file in ((key, *each) for key, files in searches.items() for each in files.items()):
        if file not in held:
            raise mismatch(f"{key}.{beam}", "a file that `graphs` names", file)
    if str(manifest["default_beam"]) not in manifest["generation"]:
        widths = sorted(manifest["generation"], key=int)
        raise mismatch("default_beam", f"one of the widths in `generation`, {widths}", manifest["default_beam"])


def json_schema():
    """The schema as a JSON Schema."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "manifest.json of a seqzoo artefact"}
    return head | SCHEMA.describe()


if __name__ == "__main__":
    print(json.dumps(json_schema(), indent=2))
