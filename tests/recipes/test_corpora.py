"""The texts of a recipe."""

import hashlib

import pytest

from tests.recipes.small import recipe, write_corpus
from zoo import recipes
from zoo.tasks.parts import corpora


def test_splits_of_the_reversal_task_are_disjoint_and_reversed():
    parts = {split: recipes.read(recipe(), split) for split in corpora.SPLITS}
    assert [len(parts[split][0]) for split in ("test", "valid")] == [11, 7]
    assert 50 <= len(parts["train"][0]) <= 60  # sequences drawn twice are dropped
    sources = [source for side in parts.values() for source in side[0]]
    assert len(set(sources)) == len(sources)
    for source, target in zip(*parts["test"], strict=True):
        assert target.split() == source.split()[::-1]


def test_a_parallel_corpus_is_found_by_split_and_language(tmp_path):
    for name, text in {"dev.de": "ein Haus\n", "dev.en": "a house\n"}.items():
        (tmp_path / name).write_text(text)
    languages = {"source_language": "de", "target_language": "en"}
    parallel = recipe(data={"corpus": "parallel", "valid_split": "dev", **languages})
    assert recipes.read(parallel, "valid", tmp_path) == (["ein Haus"], ["a house"])
    assert recipes.read(parallel, "dev", tmp_path) == (["ein Haus"], ["a house"])
    with pytest.raises(
        ValueError, match="name their directory, for example with --data; expected files such as train.de.gz"
    ):
        recipes.read(parallel, "train")
    (tmp_path / "dev.de").write_text("ein Haus\n\nein Hund\n")
    (tmp_path / "dev.en").write_text("a house\na cat\na dog\n")
    found = parallel.job.examples(parallel, "valid", tmp_path)
    assert found.answers == ["a house", "a dog"] and found.notes[0].startswith("examples without a source, left out: 1")
    refusing = recipe(data={"corpus": "parallel", "valid_split": "dev", "rules_off": ["empty"], **languages})
    with pytest.raises(ValueError, match="dev.de:2: the source line is empty"):
        recipes.read(refusing, "valid", tmp_path)


@pytest.mark.parametrize("model", ["classifier", "tagger", "stories", "language_model"])
def test_each_kind_of_data_is_pairs_of_strings(model, tmp_path):
    one = recipe(model)
    write_corpus(one, tmp_path)
    for split in ("train", "valid", recipes.last_split(one)):
        inputs, answers = recipes.read(one, split, tmp_path)
        assert len(inputs) == len(answers) and all(isinstance(each, str) for each in inputs + answers)
    with pytest.raises(ValueError, match="name their directory"):
        recipes.read(one, "train")


def test_an_unknown_split_is_refused():
    with pytest.raises(ValueError, match="has the splits train, valid, test; received 'dev'"):
        recipes.read(recipe(), "dev")


def test_digest():
    expected = hashlib.sha256("a\tb\nü\tc\n".encode()).hexdigest()
    assert corpora.digest(["a", "ü"], ["b", "c"]) == expected
    expected = hashlib.sha256(b"a\tb\tsame\n").hexdigest()
    assert corpora.digest([("a", "b")], ["same"]) == expected


@pytest.mark.parametrize("kind", ["stories", "tagger", "classifier", "language_model"])
def test_a_directory_may_be_a_string_as_a_command_line_gives_it(kind, tmp_path):
    one = recipe(kind)
    directory = str(write_corpus(one, tmp_path / "data"))
    corpora.check_data(one, ("train", "valid"), directory)
    assert len(corpora.examples(one, one.job.kind, "train", directory))
