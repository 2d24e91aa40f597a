"""The card of an import names every file of its source that was opened, and no other."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from tests.pretrained.tiny import DATA
from zoo.core.storage import write_json
from zoo.pretrained.gate import read_answers
from zoo.pretrained.opening import open_source
from zoo.pretrained.source import open_address

NAMES = sorted(each.name for each in DATA.iterdir() if [*each.glob("model.*")])
_paths = []  # that are open, while a test asks; a hook of the interpreter stays


@pytest.fixture(scope="module", autouse=True)
def hook():
    sys.addaudithook(lambda event, args: event == "open" and _paths and _paths.append(args[0]))


def opened_and_told(folder):
    """(names of the files that Python opened below a folder, names on the card)."""
    tokenizers = any(folder.glob("*to*")) or any(folder.glob("*.spm")) or any(folder.glob("*.model"))
    _paths[:] = [None]
    try:
        with open_address(folder) as source:
            open_source(source, tokenizers)
            read_answers(source)
            source.licence()
            found = [Path(path) for path in _paths if isinstance(path, str | Path)]
            _paths.clear()
            return {path.relative_to(folder).as_posix() for path in found if folder in path.parents}, {*source.hashes()}
    finally:
        _paths.clear()


@pytest.mark.slow(but=["bart", "bert", "marian", "xlm_roberta"])
@pytest.mark.parametrize("name", NAMES)
def test_what_is_opened_of_a_source_is_on_the_card(name):
    there, told = opened_and_told(DATA / name)
    assert there == told and any(each.startswith("model.") for each in told)


@pytest.mark.slow(but="gpt2")
@pytest.mark.parametrize("name", ["bart", "bert", "gpt2", "roberta"])
def test_so_are_the_many_files_of_older_tokenizers(name, tmp_path):
    """And an index of weights in parts, and a README that states no licence."""
    folder = shutil.copytree(DATA / name, tmp_path / name)
    told = json.loads((folder / "tokenizer_config.json").read_text())
    write_json(folder / "special_tokens_map.json", {key: told[key] for key in told if key.endswith("_token")})
    for file in ("added_tokens.json", "unread.json"):
        write_json(folder / file, {})
    (folder / "tokenizer.json").unlink()
    (folder / "README.md").write_text("Nothing.")
    (folder / "model.safetensors").rename(folder / "part.safetensors")
    write_json(folder / "model.safetensors.index.json", {"weight_map": {"x": "part.safetensors"}})
    there, told = opened_and_told(folder)
    words = {"vocab.txt"} if name == "bert" else {"vocab.json", "merges.txt"}
    more = {"special_tokens_map.json", "added_tokens.json", "README.md", "model.safetensors.index.json"}
    assert there == told >= words | more and "unread.json" not in told
