"""The files of a published model: which of an artefact's they are, the manifest true of them, and how they are read.

A light artefact has what a run needs (the tokenizers and the graphs that answer, in one precision) and what everything
else can be made from again: `model.keras` and `recipe.toml`. The SavedModel, the halves of generation, and the graphs
of the other precision are left out; `left_out` in the manifest names them with their SHA-256. `seqzoo verify` makes
them again from `model.keras`.

The answers to the test set are `outputs.jsonl.gz`, beside the other files. A line is {"input", "reference", "output"};
a reference may be a list of right answers. The order is that of the test set. The same answers give the same bytes. The
file may be a stranger's, and a few bytes of gzip become many: rows and bytes are counted before a line is parsed, so
that reading takes seconds and megabytes at most.
"""

import gzip
import hashlib
import io
import json
import zlib
from pathlib import Path

import zoo.hub
from serving.export.forms import FORMS, forms_in
from serving.kinds import KINDS
from serving.runtime.artefact import Artefact, read_inside
from serving.runtime.errors import DamagedError
from serving.runtime.manifest_format import DIGEST, checked, digest_of, int8_name
from zoo.hub import index as hub_index
from zoo.hub.base import Folder
from zoo.hub.places import read_entries

RECIPE = "recipe.toml"
CARD = "card.md"
OUTPUTS = "outputs.jsonl.gz"
MOST_BYTES, MOST_ROWS = 2**25, 200_000  # of all lines; of the published models the largest has 6 MB and 19,000 rows
MOST_OF_ROW = 2**16  # bytes of one line
MOST_PARTS = 100  # texts of an input, or numbers of an output
KEYS = ("input", "reference", "output")


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


def open_model(name, hub=None):
    """`(entry, folder)` of a model: all of its published files.

    Args:
        name: such as "dates" or "dates@2".
        hub: the folder of a hub; None asks the hubs of `SEQZOO_HUB`, and fetches what is not in the cache.

    Raises:
        ValueError: there is no such model.
    """
    if hub is None:
        published = zoo.hub.find(*hub_index.split(name))
        return published.entry, zoo.hub.fetch_files(published, sorted(published.entry["files"]))
    model, version = hub_index.split(name)
    entries = read_entries(Folder(hub))
    entry = hub_index.choose(entries, model, version)
    if entry is None:
        near = hub_index.nearest(model, [each["name"] for each in entries])
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise ValueError(f"{hub} has no model {name}.{hint} It has {len(entries)} entries; `seqzoo list` shows them.")
    return entry, Path(hub) / entry["name"] / str(entry["version"])


def read_published(folder, name, entry, meanwhile=""):
    """The bytes of a published file, which are those that the index lists; `meanwhile` is what was not done, if not.

    Raises:
        DamagedError: they are others.
    """
    content = read_inside(folder, name, entry["bytes"][name])
    if hashlib.sha256(content).hexdigest() != entry["files"][name]:
        path = Path(folder) / name
        raise DamagedError(f"{path} has other bytes than the index says{meanwhile}. Fetch the model again.")
    return content


def artefact_of(folder, entry):
    """The `Artefact` of published files, whose manifest is that of the index.

    Raises:
        DamagedError: the manifest is another one, or does not fit the index.
    """
    folder, name = Path(folder), hub_index.MANIFEST
    read_published(folder, name, entry)
    artefact = Artefact(folder)
    own = (name, hub_index.SIGNATURE)
    if artefact.manifest["files"] != {each: digest for each, digest in entry["files"].items() if each not in own}:
        raise DamagedError(
            f"{folder / name} does not fit the index: expected the hashes of the same files. Publish it again."
        )
    return artefact


def pack_outputs(inputs, references, outputs):
    """The bytes of the file.

    Raises:
        ValueError: they would be more than `unpack` takes.
    """
    rows = zip(inputs, references, outputs, strict=True)
    lines = [json.dumps(dict(zip(KEYS, row, strict=True)), ensure_ascii=False).encode() + b"\n" for row in rows]
    _check_bounds(len(lines), max(map(len, lines), default=0), sum(map(len, lines)))
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, compresslevel=9, mtime=0) as file:
        file.writelines(lines)
    return buffer.getvalue()


def _check_bounds(rows, longest, size):
    if rows > MOST_ROWS or longest > MOST_OF_ROW or size > MOST_BYTES:
        raise ValueError(
            f"the answers to a test set are at most {MOST_ROWS:,} rows of {MOST_OF_ROW:,} bytes and {MOST_BYTES:,} "
            f"bytes together, as JSON; received {rows:,} rows of up to {longest:,} bytes, {size:,} together"
        )


def unpack_outputs(content, where=OUTPUTS):
    """(inputs, references, outputs) of the bytes; a pair of texts is a tuple.

    Raises:
        DamagedError: they are no such file, or there are more of them than `MOST_ROWS`, `MOST_BYTES` and so on.
    """
    try:
        decompressor = zlib.decompressobj(wbits=31)
        text = decompressor.decompress(content, MOST_BYTES)
        if decompressor.unconsumed_tail or not decompressor.eof:
            raise ValueError(f"expected one gzip stream of at most {MOST_BYTES:,} bytes")
        rows = _parse_rows(text)
    except (ValueError, KeyError, TypeError, RecursionError, zlib.error) as error:
        raise DamagedError(f"{where} is damaged: {error}. Fetch it again.") from error
    if not rows:
        raise DamagedError(f"{where} is damaged: it has no line. Fetch it again.")
    inputs, references, outputs = (list(column) for column in zip(*rows, strict=True))
    return [tuple(each) if isinstance(each, list) else each for each in inputs], references, outputs


def _parse_rows(text):
    if text.count(b"\n") > MOST_ROWS:  # before they become as many strings
        raise ValueError(f"expected at most {MOST_ROWS:,} rows")
    lines = text.split(b"\n")  # not `splitlines`: a text may hold other characters that break lines
    if lines.pop():
        raise ValueError("its last line has no end")
    _check_bounds(len(lines), max(map(len, lines), default=0), len(text))
    return [_parse_row(json.loads(line)) for line in lines]


def _parse_row(line):
    one, reference, output = (line[key] for key in KEYS)
    if not _is_text(one) or not _is_text(reference) or not _is_answer(output):
        raise ValueError(f"a line is not of the form {', '.join(KEYS)}: {line!r:.80}")
    return one, reference, output


def _is_text(value):
    if isinstance(value, list):
        return len(value) <= MOST_PARTS and all(isinstance(each, str) for each in value)
    return isinstance(value, str)


def _is_answer(value):
    if isinstance(value, dict):
        return len(value) <= MOST_PARTS and all(type(each) in (int, float) for each in value.values())
    return isinstance(value, str)
