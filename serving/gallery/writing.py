"""Writes a gallery: the page, what it needs of others, and the files of the models that answer."""

import hashlib
import json
import os
import re
from collections import Counter
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from serving.gallery import vendored
from serving.hub.published import OUTPUTS, unpack_outputs
from serving.kinds import KINDS
from serving.lazy import later
from serving.runtime.artefact import MANIFEST, FetchedArtefact, locate, open_artefact
from serving.runtime.errors import UnsupportedError
from serving.runtime.manifest_format import weight_files
from zoo.core.storage import folder_beside
from zoo.text import words

sessions = later("serving.runtime.sessions")

EXAMPLES = 5
LONGEST = 160  # characters of an example
PROMPT = 60  # of the beginning of a text that a language model is to go on with
FACTS = {  # entries of a hub's index, and their values where an artefact has none
    "task": "",
    "kind": "",
    "system": "",
    "cell": None,
    "attention": None,
    "feedforward": None,
    "block": None,
    "depth": None,
    "languages": [],
    "description": "",
    "licence": "",
    "data": "",
    "data_licence": "",
    "attribution": "",
    "parameters": None,
    "published": "",
}
INDEX = "gallery.json"
FORMAT = 1
SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")  # a name that is a folder on every system, and in addresses
WRITES_BY_DRAWING = "sample"
SHOWN = tuple(name for name, kind in KINDS.items() if not kind.is_vector)


@dataclass(frozen=True)
class Model:
    """A model of a gallery: its artefact, and which graphs of it the page runs, by signature."""

    artefact: object
    graphs: dict

    @property
    def manifest(self):
        return self.artefact.manifest

    @property
    def folder(self):
        return f"models/{self.manifest['name']}/{self.manifest['version']}"

    @property
    def files(self):
        """The names of the files that the page needs, but for the manifest."""
        weights = {file for graph in self.graphs.values() for file in weight_files(self.manifest, graph)}
        return sorted({*self.manifest["tokenizer"].values(), *self.graphs.values(), *weights})


def write(names, out, log=lambda line: None):
    """Write a gallery to the folder `out`, and return its path. A gallery that is there is replaced.

    Everything is written beside `out` and gets its name at the end: what is there is an old gallery or a new one.

    Args:
        names: models of the hubs ("dates", "dates@1"), or folders of artefacts.
        out: a folder that does not exist, is empty, or holds a gallery.
        log: a function that is called with a line about each model.

    Raises:
        ValueError: there is no such model, two have one name, or `out` holds something else.
        DamagedError: a file has other bytes than its manifest says.
        UnsupportedError: a graph needs a newer ONNX Runtime than the one of the page.
        zoo.hub.HubError: a file cannot be downloaded.
    """
    out = Path(out).absolute()
    if out.is_dir() and not (out / INDEX).is_file() and any(out.iterdir()):
        raise ValueError(f"{out} holds something that is no gallery. Choose another --out, or empty the folder first.")
    if os.path.lexists(out) and not out.is_dir():
        raise ValueError(f"{out} is no folder. Choose another --out.")
    if not names:
        raise ValueError("A gallery needs at least one model; received none. `seqzoo list` shows those that there are.")
    models = [_choose(name) for name in names]
    counts = Counter(model.manifest["name"] for model in models)
    if len(counts) < len(models):
        (name, _), *_ = counts.most_common(1)
        raise ValueError(f"A gallery shows each name once; received two models called {name!r}. Leave one out.")
    with folder_beside(out) as beside:
        _fill(beside, models, log)
    return out


def _choose(name):
    artefact = open_artefact(locate(name))
    manifest = artefact.manifest
    kind = manifest["kind"]
    if kind not in SHOWN:
        names = ", ".join(SHOWN)
        raise UnsupportedError(f"{artefact.origin} is of the kind {kind!r}, which no gallery shows; it shows {names}.")
    if not SAFE.fullmatch(manifest["name"]):
        raise ValueError(
            f"{artefact.origin} is called {manifest['name']!r}, which is no name of a folder in a gallery: expected "
            "letters, digits, dots, hyphens and underscores. Export it with --name."
        )
    graphs = KINDS[kind].graphs(manifest)
    return Model(artefact, {signature: artefact.preferred_file(file) for signature, file in graphs.items()})


def _fill(folder, models, log):
    """All files of a gallery."""
    files = dict(_read_page())
    for file in vendored.FILES:
        if file.name != vendored.WASM:
            files[f"vendor/{file.name}"] = vendored.unpack(file)
    wasm = vendored.packed(next(file for file in vendored.FILES if file.name == vendored.WASM))
    # Not called .gz: a server that knows this ending would have the browser unpack it before it compares the hash.
    engine = f"vendor/{vendored.WASM}.packed"
    licences = resources.files("serving.gallery").joinpath("vendor", vendored.LICENCES).read_bytes()
    files |= {engine: wasm, f"vendor/{vendored.LICENCES}": licences}
    entries = []
    for model in models:
        contents = dict(_read_contents(model))
        entries.append(_make_entry(model, contents))
        for name, content in contents.items():
            _put(folder / model.folder / name, content)
        log(f"{model.manifest['name']}: {sum(map(len, contents.values())):,} bytes")
    packages = {file.package: file.version for file in vendored.FILES}
    index = {
        "format": FORMAT,
        "engine": {"path": engine, "sha256": _sha256(wasm), "packages": packages},
        "files": sorted(files),
        "models": entries,
    }
    content = (json.dumps(index, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()
    # The worker that keeps files for use without a network is another one for another gallery.
    digests = (f"{name} {_sha256(each)}\n" for name, each in sorted({**files, INDEX: content}.items()))
    files["offline.js"] = files["offline.js"].replace(b"GALLERY", _sha256("".join(digests).encode()).encode(), 1)
    for name, file in {**files, INDEX: content}.items():
        _put(folder / name, file)


def _read_page():
    """`(path, bytes)` of each file of the page."""
    waiting = [("", resources.files("serving.gallery").joinpath("page"))]
    while waiting:
        path, place = waiting.pop()
        if place.is_dir():
            waiting += [(f"{path}/{each.name}".lstrip("/"), each) for each in place.iterdir()]
        else:
            yield path, place.read_bytes()


def _read_contents(model):
    """`(name, bytes)` of each file of a model, the manifest first."""
    yield MANIFEST, (model.artefact.directory / MANIFEST).read_bytes()
    for name in model.files:
        content = model.artefact.read(name)
        if name in model.graphs.values():
            _check_graph(model, name, content)
        yield name, content


def _check_graph(model, name, content):
    _, here = vendored.RUNTIME
    oldest = model.manifest["onnx"].get(name, {}).get("onnxruntime", "0")
    if sessions.version_numbers(oldest) > sessions.version_numbers(here):
        raise UnsupportedError(f"{model.folder}/{name} needs ONNX Runtime {oldest}; that of the gallery is {here}.")
    try:
        sessions.weights_files(content, model.manifest, name)
    except ValueError as error:
        raise UnsupportedError(f"{model.folder}/{name} is not shown: {error}.") from error


def _make_entry(model, contents):
    """What gallery.json says of a model, whose files have these contents.

    Needed are those without which there is no answer: not the graph that draws at random.
    """
    manifest, drawing = model.manifest, model.graphs.get(WRITES_BY_DRAWING)
    return {
        "name": manifest["name"],
        "version": manifest["version"],
        **collect_facts(model.artefact),
        "folder": model.folder,
        "manifest": _sha256(contents[MANIFEST]),
        "graphs": model.graphs,
        "rules": manifest.get("rules"),
        "words": _convert_to_javascript(words.steps(manifest.get("words", "spaces"))),
        "needed": [[name, manifest["files"][name]] for name in model.files if name != drawing],
        "bytes": {name: len(content) for name, content in contents.items()},
    }


def _convert_to_javascript(steps):
    """The replacements that cut a text into words, for JavaScript's RegExp."""
    return [
        [re.sub(r"\\([ #&~])", r"\1", pattern), re.sub(r"\\(\d)", r"$\1", becomes).replace("$0", "$&")]
        for pattern, becomes in steps
    ]


def _sha256(content):
    return hashlib.sha256(content).hexdigest()


def _put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def collect_facts(artefact):
    """The facts and the examples of an artefact, of a hub or of a folder."""
    manifest = artefact.manifest
    stated = {"task": manifest["task"], "kind": manifest["kind"], **manifest.get("published", {})}
    entry = artefact.published.entry if isinstance(artefact, FetchedArtefact) else {}
    facts = {name: entry.get(name, stated.get(name, default)) for name, default in FACTS.items()}
    kind = KINDS[manifest["kind"]]
    can = {"prompts": kind.prompts, "has_source": kind.has_source}
    return facts | can | {"examples": examples(artefact)}


def examples(artefact):
    """Texts to try a model with: from its test set, evenly spread, where the artefact has its answers to it."""
    manifest = artefact.manifest
    texts = manifest["texts"]
    if OUTPUTS in manifest["files"]:
        texts, _, _ = unpack_outputs(artefact.read(OUTPUTS), OUTPUTS)
    texts = ["\t".join(text) if isinstance(text, tuple) else text for text in texts]
    kind = KINDS[manifest["kind"]]
    if kind.prompts:
        texts = [lines[1] for text in texts if len(lines := [line for line in text.split("\n") if line.strip()]) > 1]
    most = PROMPT if kind.prompts else LONGEST
    texts = [text for text in dict.fromkeys(texts) if 0 < len(text) <= most]
    return texts[:: max(1, len(texts) // EXAMPLES)][:EXAMPLES]
