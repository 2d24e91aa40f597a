"""What an artefact is asked of each task, how its answers are kept, and that they are scored as a run's are."""

import json
import math
from types import SimpleNamespace

import pytest

from tests.tasks import runs
from zoo import recipes, scores


class Runtime:
    """Answers like `serving.Runtime`: a word is a token, each costs as many nats as it has letters, and each is tagged.

    Args:
        answer: a function of a text.
    """

    def __init__(self, answer=str.upper, **manifest):
        self.answer, self.manifest, self.asked = answer, manifest, []

    def run(self, texts, **options):
        self.asked += texts
        return [SimpleNamespace(answer=self.answer(text)) for text in texts]

    def encode(self, texts):
        return [list(range(len(text))) for text in texts]

    def score(self, texts):
        return [(-0.5 * len(text), len(text)) for text in texts]


def answered(recipe, runtime, examples):
    task = recipe.job
    inputs, references = task.questions(recipe, runtime, examples)
    outputs = task.respond(recipe, runtime, inputs, references)
    assert json.loads(json.dumps(outputs)) == outputs
    return inputs, references, outputs, task.assess(recipe, inputs, outputs, references)


@pytest.mark.parametrize("task", ["translate", "transduce", "classify"])
def test_texts_are_asked_as_they_are(task, tmp_path):
    recipe = runs.recipe(task, tmp_path)
    inputs, references, outputs, found = answered(recipe, Runtime(), (["ab", "c"], ["AB", "D"]))
    assert (inputs, references, outputs) == (["ab", "c"], ["AB", "D"], ["AB", "C"])
    name = "accuracy" if task == "classify" else "exact_match"
    assert found.scores[name] == 50 and len(found.scores[f"{name}_interval"]) == 2
    assert (found.inputs, found.outputs, found.references) == (inputs, outputs, references)


def test_pairs_are_asked_with_a_tab(tmp_path):
    recipe, runtime = runs.recipe("compare", tmp_path), Runtime(lambda text: "same")
    _, _, _, found = answered(recipe, runtime, ([("a", "b"), ("c", "c")], ["other", "same"]))
    assert runtime.asked == ["a\tb", "c\tc"] and found.scores["accuracy"] == 50


def test_a_word_without_a_tag_is_wrong(tmp_path):
    """An artefact gives no tags to a text that it refuses."""
    recipe = runs.recipe("tag", tmp_path)
    runtime = Runtime(lambda text: [] if "x" in text else [word.upper() for word in text.split()])
    _, _, outputs, found = answered(recipe, runtime, (["a b c", "x y"], ["A B D", "X Y"]))
    assert outputs == ["A B C", "_ _"] and found.scores["accuracy"] == pytest.approx(100 * 2 / 5)


def test_joined_pieces_are_scored_and_asked_apart(tmp_path):
    recipe = runs.recipe("translate", tmp_path, text={**runs.WRITER["text"], "joiner": "@@ "})
    runtime = Runtime(lambda text: text)
    inputs, _, outputs, found = answered(recipe, runtime, (["un@@ do"], ["undo"]))
    assert runtime.asked == inputs == outputs == ["un@@ do"]
    assert found.outputs == ["undo"] and found.scores["exact_match"] == 100


@pytest.mark.parametrize("most", [None, 5])
def test_a_running_text_is_cut_into_pieces_that_are_read_whole(most, tmp_path):
    recipe, text = runs.recipe("continue", tmp_path), "to be or not to be, that is the question\n" * 3
    runtime = Runtime(longest_text=most)
    inputs, references, outputs, found = answered(recipe, runtime, ([text], [""]))
    size = min(recipe.model.context, most or 99)
    assert "".join(inputs) == text and {len(piece) for piece in inputs[:-1]} == {size} and set(references) == {""}
    assert sum(each["tokens"] for each in outputs) == len(text)
    assert found.scores["nats_per_character"] == pytest.approx(0.5)
    assert found.scores["bits_per_character"] == pytest.approx(0.5 / math.log(2))
    assert (found.inputs, found.references) == ([text], [""])  # wherever it was cut, the test set is the text
    assert recipe.job.questions(recipe, runtime, ([text], [""]))[0] == inputs


def test_pieces_have_nearly_as_many_tokens_as_the_model_reads(tmp_path):
    """A token of several letters: the pieces grow until they hold as many tokens, and never more."""
    recipe, text = runs.recipe("continue", tmp_path), "abcd" * 100
    runtime = Runtime()
    runtime.encode = lambda texts: [list(range(-(-len(text) // 4))) for text in texts]
    pieces, _ = recipe.job.questions(recipe, runtime, ([text], [""]))
    counts = [len(ids) for ids in runtime.encode(pieces)]
    assert "".join(pieces) == text and max(counts) == recipe.model.context and set(counts[1:-1]) == {8}


def test_only_the_answer_counts_behind_a_prompt():
    data = {"corpus": "duplication", "train_size": 9, "valid_size": 3, "test_size": 3, "longest": 3}
    own = {"text": {"pieces": "char", "vocab_size": 40}, "model": {"kind": "transformer", **runs.STACK}}
    recipe = recipes.make({"name": "small", "task": "continue", "data": data, **own})
    inputs, _, outputs, found = answered(recipe, Runtime(), (["abcd", "ef"], ["ab", "e"]))
    assert inputs == ["abcd", "ef"] and outputs == [{"nats": 1.0, "tokens": 2}, {"nats": 0.5, "tokens": 1}]
    expected = scores.language_model([1.0, 0.5], [2, 1], [2, 1], [2, 1])
    assert found.scores == expected | {"context": recipe.model.context}
