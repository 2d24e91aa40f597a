"""Datasets that `save_to_disk` wrote; where the library is not installed, a stand-in with its interface answers."""

import sys
import types
from pathlib import Path

import pytest

from tests.data.formats import write
from zoo.data.formats import detect, read


class Labels:
    """As `datasets.ClassLabel`."""

    names = ("neg", "pos")


class Several:
    """As `datasets.List`."""

    feature = Labels()


class Rows(list):
    """As `datasets.Dataset`: rows, and the features of their columns."""

    features = {"text": object(), "label": Labels(), "tokens": object(), "ner_tags": Several(), "translation": object()}


class Splits(dict):
    """As `datasets.DatasetDict`."""


GOOD = Rows([{"text": "fine", "label": 1}, {"text": "bad", "label": 0}])
SECRET = Rows([{"text": "fine", "label": -1}])
TAGGED = Rows([{"tokens": ["a", "b"], "ner_tags": [1, 0]}])
HELD = {
    "one": GOOD,
    "both": Splits(test=SECRET, train=GOOD),
    "odd": Splits(a=GOOD, b=GOOD),
    "tagged": TAGGED,
    "secret tags": Rows([{"tokens": ["a", "b"], "ner_tags": [1, -1]}]),
    "pairs": Rows([{"translation": {"de": "eins", "en": "one"}}]),
    "empty": Rows(),
}


@pytest.fixture
def library(monkeypatch):
    """The library's functions: what a folder holds stands in a file in it, and the hub has one dataset."""

    def load_from_disk(folder):
        return HELD[(Path(folder) / "name").read_text()]

    def load_dataset(name, config=None, split=None):
        asked.append((name, config, split))
        if name == "nobody/nothing":
            raise FileNotFoundError("Couldn't find 'nobody/nothing' on the Hub\nand more")
        return GOOD

    asked = []
    module = types.ModuleType("datasets")
    module.load_from_disk, module.load_dataset, module.asked = load_from_disk, load_dataset, asked
    monkeypatch.setitem(sys.modules, "datasets", module)
    return module


def saved(folder, name):
    """A folder that looks as `save_to_disk` leaves it."""
    write(folder / ("dataset_dict.json" if isinstance(HELD[name], Splits) else "state.json"), "{}")
    write(folder / "name", name)
    return str(folder)


def test_a_dataset_and_its_names_of_labels(tmp_path, library):
    found = read(saved(tmp_path / "d", "one"), "labelled")
    assert (found.inputs, found.answers) == (["fine", "bad"], ["pos", "neg"])
    assert read(f"hf://{tmp_path}/d", "labelled").inputs == found.inputs
    assert detect(tmp_path / "d", "labelled").columns == {"text": "text", "label": "label"}
    assert read(saved(tmp_path / "t", "tagged"), "tagged").answers == ["pos neg"]
    assert read(saved(tmp_path / "p", "pairs"), "pairs").answers == ["one"]


def test_splits_of_a_folder(tmp_path, library):
    both = saved(tmp_path / "both", "both")
    assert len(read(both, "labelled")) == len(read(f"{both}:train", "labelled")) == 2
    with pytest.raises(ValueError, match="both:test:1.*'label' is -1, which stands for no label.*Name another split"):
        read(f"hf://{both}:test", "labelled")
    with pytest.raises(ValueError, match="holds the splits test, train; received 'dev'.*such as .*both:test"):
        read(f"{both}:dev", "labelled")
    with pytest.raises(ValueError, match="holds the splits a, b; received None"):
        read(saved(tmp_path / "odd", "odd"), "labelled")
    with pytest.raises(ValueError, match="one dataset without splits; received the split 'test'"):
        read(saved(tmp_path / "d", "one") + ":test", "labelled")
    with pytest.raises(ValueError, match="is empty; expected at least one example"):
        read(saved(tmp_path / "e", "empty"), "labelled")


@pytest.mark.parametrize(
    ("address", "asked"),
    [
        ("imdb", ("imdb", None, "train")),
        ("stanfordnlp/imdb:test", ("stanfordnlp/imdb", None, "test")),
        ("nyu-mll/glue/sst2:validation", ("nyu-mll/glue", "sst2", "validation")),
    ],
)
def test_addresses_of_the_hub(library, address, asked):
    assert read(f"hf://{address}", "labelled").answers == ["pos", "neg"]
    assert set(library.asked) == {asked}


def test_what_the_hub_does_not_have(library):
    with pytest.raises(ValueError, match=r"cannot load 'nobody/nothing', split 'train': Couldn't find .* Hub\. Exp"):
        read("hf://nobody/nothing", "labelled")
    with pytest.raises(ValueError, match="no address. Expected hf://"):
        read("hf://a/b/c/d", "labelled")
    with pytest.raises(ValueError, match="There is no file none.parquet"):
        read("none.parquet", "labelled")


def test_the_library_itself_if_it_is_installed(tmp_path, capfd):
    """The stand-in is only as good as its likeness: with the extra installed the library is asked, too."""
    import datasets

    features = datasets.Features({"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["neg", "pos"])})
    part = datasets.Dataset.from_dict({"text": ["fine", "bad"], "label": [1, 0]}, features=features)
    part.save_to_disk(tmp_path / "one")
    datasets.DatasetDict({"train": part, "test": part}).save_to_disk(tmp_path / "both")
    part.to_parquet(tmp_path / "a.parquet")
    for address in (tmp_path / "one", f"hf://{tmp_path}/both:test", tmp_path / "a.parquet"):
        capfd.readouterr()
        assert read(address, "labelled").answers == ["pos", "neg"]
        assert capfd.readouterr() == ("", "")  # no bar of the library, which would stand among the notes
    (tmp_path / "b.parquet").write_text("text,label")
    with pytest.raises(ValueError, match=r"b.parquet is no Parquet file that can be read: .*Parquet magic bytes not"):
        read(tmp_path / "b.parquet", "labelled")
    tags = datasets.List(datasets.ClassLabel(names=["O", "B-X"]))
    features = datasets.Features({"tokens": datasets.List(datasets.Value("string")), "ner_tags": tags})
    datasets.Dataset.from_dict({"tokens": [["a", "b"]], "ner_tags": [[1, 0]]}, features=features).save_to_disk(
        tmp_path / "tagged"
    )
    assert read(tmp_path / "tagged", "tagged").answers == ["B-X O"]
    features = datasets.Features({"translation": datasets.Translation(languages=["de", "en"])})
    rows = {"translation": [{"de": "eins", "en": "one"}]}
    datasets.Dataset.from_dict(rows, features=features).save_to_disk(tmp_path / "pairs")
    assert read(tmp_path / "pairs", "pairs").answers == ["one"]


def test_tags_that_stand_for_none_are_no_names(tmp_path, library):
    with pytest.raises(ValueError, match=r"'ner_tags' is \[1, -1\], which stands for no label"):
        read(saved(tmp_path / "secret", "secret tags"), "tagged")
