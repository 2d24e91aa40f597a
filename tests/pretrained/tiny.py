"""The tiny networks of data/: copies with other settings, what is opened of them, what their framework says."""

import json
import shutil
from pathlib import Path

from zoo.pretrained.gate import measure, read_answers
from zoo.pretrained.opening import open_source
from zoo.pretrained.source import open_address

DATA = Path(__file__).with_name("data")
NEAR = 2e-6  # of the largest number: float32's rounding over a few layers


def changed(tmp_path, name, file="config.json", **changes):
    """The copy of a network there, made if there is none, one file of settings changed; None drops a key."""
    folder = tmp_path / name
    if not folder.exists():
        shutil.copytree(DATA / name, folder)
    settings = (json.loads((folder / file).read_text()) if (folder / file).is_file() else {}) | changes
    (folder / file).write_text(json.dumps({key: each for key, each in settings.items() if each is not None}))
    return folder


def opened(folder, *languages, tokenizers=True):
    """What `open_source` makes of a folder."""
    with open_address(folder, languages or ("", "")) as source:
        return open_source(source, tokenizers)


def difference(folder, change=lambda logits: logits):
    """The largest one of an opened folder from the answers it keeps, of which the logits are changed."""
    with open_address(folder) as source:
        made, answers = open_source(source, tokenizers=False), read_answers(source)[1]
    return measure(made.model, made.network, answers | {"logits": change(answers["logits"])})[1]


def said(folder):
    """The texts of a folder, their ids and what was written of them."""
    return json.loads((folder / "said.json").read_text(encoding="utf-8"))


def has_its_ids(folder):
    """Whether the texts have the ids that they have in their framework."""
    made, told = opened(folder), said(folder)
    tokenizer, ids = made.tokenizers[0], made.network.ids
    return [ids[tokenizer.around.put(each)].tolist() for each in tokenizer.encode(told["texts"])] == told["ids"]
