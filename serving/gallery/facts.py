"""What a gallery tells of a model: the facts of its publication, and texts to try it with."""

from serving.hub.outputs import FILE, unpack
from serving.kinds import KINDS
from serving.runtime.named import FetchedArtefact

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


def collect_facts(artefact):
    """The facts and the examples of an artefact, of a hub or of a folder."""
    manifest = artefact.manifest
    known = {"task": manifest["task"], "kind": manifest["kind"], **manifest.get("published", {})}
    entry = artefact.found.entry if isinstance(artefact, FetchedArtefact) else {}
    facts = {name: entry.get(name, known.get(name, default)) for name, default in FACTS.items()}
    kind = KINDS[manifest["kind"]]
    can = {"prompts": kind.prompts, "has_source": kind.has_source}
    return facts | can | {"examples": examples(artefact)}


def examples(artefact):
    """Texts to try a model with: from its test set, evenly spread, where the artefact has its answers to it."""
    manifest = artefact.manifest
    texts = manifest["texts"]
    if FILE in manifest["files"]:
        texts, _, _ = unpack(artefact.read(FILE), FILE)
    texts = ["\t".join(text) if isinstance(text, tuple) else text for text in texts]
    kind = KINDS[manifest["kind"]]
    if kind.prompts:
        texts = [lines[1] for text in texts if len(lines := [line for line in text.split("\n") if line.strip()]) > 1]
    most = PROMPT if kind.prompts else LONGEST
    texts = [text for text in dict.fromkeys(texts) if 0 < len(text) <= most]
    return texts[:: max(1, len(texts) // EXAMPLES)][:EXAMPLES]
