"""Examples in memory: every kind of them, how they are cut, and what is refused."""

import pytest

from zoo import recipes
from zoo.data.formats import Examples
from zoo.tasks.parts.files import make_examples

OWN = {"name": "own", "task": "classify", "data": {"corpus": "files"}}
LABELLED = [(f"text {number}", number % 2) for number in range(40)]


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        ("pairs", [("ein Hund", "a dog")], ("ein Hund", "a dog")),
        ("labelled", [["good", True]], ("good", "true")),
        ("compared", [(("a", "b"), "same")], (("a", "b"), "same")),
        ("tagged", [(["New", "York"], ("B", "I"))], ("New York", "B I")),
        ("tagged", [("New York", "B I")], ("New York", "B I")),
        ("running", "To be,\nor not", ("To be,\nor not", "")),
    ],
)
def test_every_kind(kind, given, expected):
    found = make_examples(kind, "train", given)
    assert (found.inputs, found.answers) == ([expected[0]], [expected[1]])
    assert make_examples(kind, "test", found) is found


def test_lists_are_cut_as_files_are():
    recipe = recipes.load(OWN, [{"data": {"test_share": 0.2}}])
    parts = [recipes.read(recipe, split, {"train": LABELLED}) for split in ("train", "valid", "test")]
    assert sorted(sum((inputs for inputs, _ in parts), [])) == sorted(text for text, _ in LABELLED)
    assert all(set(answers) <= {"0", "1"} and answers for _, answers in parts)
    own = {"train": LABELLED, "valid": LABELLED[:3], "test": iter(LABELLED[:2])}
    assert [len(recipes.read(recipe, split, own)[0]) for split in ("train", "valid", "test")] == [40, 3, 2]
    assert recipes.last_split(recipe, own) == recipes.last_split(recipe, {"train": LABELLED}) == "test"
    assert recipes.last_split(recipes.load(OWN), {"train": LABELLED}) == "valid"


@pytest.mark.parametrize(
    ("data", "split", "said"),
    [
        ({"train": []}, "train", "train has no examples; expected labelled texts, each (text, label)"),
        ({"train": ["red"]}, "train", "train, example:1: received 'red'; expected (text, label)."),
        ({"train": [("red", None), ("", "a")]}, "train", "All are left out: examples without a label, left out: 1"),
        ({"train": [(3, "a")]}, "train", "the text is 3; expected a string"),
        ({"train": Examples("pairs", ["a"], ["b"])}, "train", "train: expected labelled texts; received examples of"),
        ({"dev": LABELLED}, "test", "examples have the splits train, valid, test; received 'dev'"),
        ({"train": LABELLED}, "test", "there are no test examples; received train. Give data['test']"),
        ({"test": LABELLED}, "valid", "there are no valid examples; received test"),
    ],
)
def test_what_is_wrong_is_told(data, split, said):
    with pytest.raises(ValueError) as refused:
        recipes.read(recipes.load(OWN), split, data)
    assert said in str(refused.value)


def test_examples_without_a_text_or_a_label_are_left_out_or_refused():
    given = {"train": [*LABELLED, ("red", None), (" ", "a"), ("blue", float("nan"))]}
    recipe = recipes.load(OWN)
    found = recipe.job.examples(recipe, "train", given | {"valid": LABELLED})
    assert len(found) == 40 and [note.partition(" (")[0] for note in found.notes] == [
        "examples without a label, left out: 2",
        "examples without a text, left out: 1",
    ]
    with pytest.raises(ValueError, match="3 problems in the data:\n  train, example:41: the label is empty"):
        recipes.read(recipes.load(OWN, ['data.rules_off=["empty"]']), "train", given)


def test_a_training_refuses_them_as_the_recipe_says(tmp_path):
    from zoo import train

    given = {"train": [*LABELLED, ("red", None)], "valid": LABELLED}
    with pytest.raises(ValueError, match="train, example:41: the label is empty"):
        train(OWN, given, tmp_path / "run", settings=['data.rules_off=["empty"]'])


def test_a_corpus_of_the_zoo_is_not_given_other_examples():
    for name in ("trec-star", "dates-gru-additive"):
        with pytest.raises(ValueError, match="has a corpus of its own"):
            recipes.check_data(recipes.load(name), ("train",), {"train": LABELLED})


@pytest.mark.slow
def test_a_list_trains_and_is_scored(tmp_path):
    import zoo

    tiny = {"model": {"kind": "recurrent", "units": 4}, "text": {"pieces": "char", "vocab_size": 20}}
    tiny |= {"training": {"steps": 2, "validate_every": 1, "batch_size": 4, "num_buckets": 1}}
    run = zoo.train(OWN, LABELLED, tmp_path / "run", settings=tiny)
    assert run.labels == ("0", "1")
    scores = zoo.evaluate(run, LABELLED[:7])
    assert (scores["split"], scores["count"]) == ("test", 7)
