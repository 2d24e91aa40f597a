"""Two runs are compared by what their evaluations kept; no model is needed."""

import json

import numpy as np
import pytest

from tests.shared import python
from tools import cli
from zoo import scores
from zoo.recipes import evaluations

RIGHT = [("fire", "water", "air")[number % 3] for number in range(120)]
INPUTS = [f"text {number}" for number in range(120)]


def keep(folder, outputs, references=RIGHT, split="test", **more):
    """What `seqzoo evaluate` leaves of a classifier."""
    folder.mkdir(exist_ok=True)
    found = scores.classification(outputs, references)
    own = {"format": 1, "task": "classify", "split": split, "count": len(references), "sha256": "1" * 64}
    own |= {"scored_by": "classification", "options": {}, "lengths": [], "scores": found}
    own |= {"outputs": outputs, "inputs": INPUTS[: len(references)], "references": references}
    evaluations.path(folder, split).write_text(json.dumps(own | more))
    return str(folder)


def wrong_at(every):
    return [right if number % every else "air" for number, right in enumerate(RIGHT)]


@pytest.fixture
def runs(tmp_path):
    return keep(tmp_path / "old", wrong_at(4)), keep(tmp_path / "new", wrong_at(20))


def test_the_better_run_is_found(runs):
    found = evaluations.compare(*runs)
    expected = scores.compare("classification", wrong_at(4), wrong_at(20), RIGHT)
    assert found["scores"] == expected["scores"] and found["scores"]["accuracy"]["better"] == "b"
    assert (found["task"], found["split"], found["scored_by"]) == ("classify", "test", "classification")
    first = found["differ"][0]
    assert first["input"] == INPUTS[first["example"]] and first["reference"] == RIGHT[first["example"]] != first["a"]
    assert found["grouped_by"] == "label" and {row["group"] for row in found["by_group"]} == {"fire", "water", "air"}


def test_the_table_says_who_is_better_and_what_may_be_chance(runs, tmp_path, capsys):
    assert cli.main(["compare", *runs]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["a: old", "b: new", "test, 120 examples, the same for both"]
    found = evaluations.compare(*runs)["scores"]["accuracy"]
    (row,) = (line for line in lines if line.startswith("accuracy"))
    low, high = found["difference_interval"]
    shown = f"{found['a']:.2f} {found['b']:.2f} +{found['difference']:.2f} +{low:.2f} to +{high:.2f}"
    assert " ".join(row.split()) == f"accuracy, % {shown} {found['p_value']:.3f} b is better"
    near = wrong_at(4)
    near[4] = RIGHT[4]
    assert cli.main(["compare", runs[0], keep(tmp_path / "near", near)]) == 0
    assert "may be chance" in capsys.readouterr().out
    assert cli.main(["compare", runs[0], runs[0]]) == 0
    out = capsys.readouterr().out
    assert "equal" in out and "No example counts differently in accuracy" in out


def test_json_and_figure(runs, tmp_path, capsys):
    figure = tmp_path / "figures" / "x.png"
    assert cli.main(["compare", *runs, "--json", "--out", str(figure)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == {"runs": list(runs), **evaluations.compare(*runs)}
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_no_framework_is_needed(runs):
    code = (
        "import sys; from tools.cli import main; status = main(['compare', *sys.argv[1:]]);"
        "assert not {'keras', 'tensorflow', 'jax', 'matplotlib'} & sys.modules.keys(); sys.exit(status)"
    )
    assert "b is better" in python("-c", code, *runs).stdout


def test_lengths_make_groups(tmp_path):
    lengths = [1 + number % 10 for number in range(120)]
    runs = [keep(tmp_path / str(every), wrong_at(every), lengths=lengths) for every in (4, 20)]
    found = evaluations.compare(*runs)
    assert [(row["group"], row["count"]) for row in found["by_group"]] == [("1-5", 60), ("6-10", 60)]


def test_what_one_run_takes_for_out_of_scope_counts_for_the_other(tmp_path):
    one = keep(tmp_path / "a", wrong_at(4))
    other = keep(tmp_path / "b", wrong_at(20), scored_by="out_of_scope", options={"label": "fire"})
    for pair in ((one, other), (other, one)):
        found = evaluations.compare(*pair)
        assert found["leading"] == "out_of_scope_recall" and found["scored_by"] == "out_of_scope"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"task": "tag"}, "is a run of the task classify and"),
        (
            {"sha256": "2" * 64},
            "were evaluated on other test sets: the examples of their split test differ (120 and 120",
        ),
        ({"options": {"language": "de"}}, "expected two runs that are scored alike"),
        ({"format": 2}, "is damaged, or of another version"),
    ],
)
def test_what_cannot_be_compared_is_refused(tmp_path, capsys, change, message):
    one, other = keep(tmp_path / "a", wrong_at(4)), keep(tmp_path / "b", wrong_at(4), **change)
    assert cli.main(["compare", one, other]) == 2
    error = capsys.readouterr().err
    assert error.startswith("seqzoo compare: ") and message in error and error.count("\n") == 1


def test_a_record_without_what_every_one_has_is_damaged(tmp_path):
    folder = keep(tmp_path / "a", wrong_at(4))
    evaluations.path(folder, "test").write_text('{"format": 1}')
    with pytest.raises(ValueError, match=r"test.outputs.json is damaged, or of another version of seqzoo. Make them"):
        evaluations.read(folder, "test")


@pytest.mark.parametrize("content", ["{", "[]", "\0"])
def test_scores_that_are_damaged_are_named(tmp_path, content):
    assert evaluations.read_scores(tmp_path) == {}
    (tmp_path / "scores.json").write_text(content)
    with pytest.raises(ValueError, match="scores.json is damaged: expected scores of `seqzoo evaluate`. Remove it"):
        evaluations.read_scores(tmp_path)


def test_published_models_are_not_evaluated_by_their_names(runs):
    one = evaluations.read(runs[0], "test")
    with pytest.raises(
        ValueError, match=r"test sets: .*\. A published model is compared with what has answered the same"
    ):
        evaluations.compare_records(runs[0], "b@1", one, one | {"sha256": "2" * 64})


def test_the_command_to_type_is_named(runs, tmp_path, capsys):
    (tmp_path / "fresh").mkdir()
    for wrong, message in (
        ([runs[0], str(tmp_path / "fresh")], f"seqzoo evaluate {tmp_path / 'fresh'} --split test"),
        ([*runs, "--split", "valid"], f"seqzoo evaluate {runs[0]} --split valid"),
        ([*runs, runs[0]], "Expected two runs; received 3"),
        ([runs[0]], "Expected two runs; received 1"),
        ([*runs, "--out", "x.txt"], "end in one of .pdf, .png, .svg"),
    ):
        assert cli.main(["compare", *wrong]) == 2
        assert message in capsys.readouterr().err


def test_the_split_that_both_have_is_taken(runs, tmp_path):
    one = keep(tmp_path / "only-valid", wrong_at(4), split="valid")
    with pytest.raises(
        ValueError, match="Expected runs that were evaluated on one split; received .* on test; .*valid"
    ):
        evaluations.compare(runs[0], one)
    keep(tmp_path / "old", wrong_at(20), split="valid")
    assert evaluations.compare(runs[0], one)["split"] == "valid"
    for folder in (tmp_path / "old", tmp_path / "only-valid"):
        keep(folder, wrong_at(20), split="other")
    with pytest.raises(ValueError, match="keeps answers to the splits other, valid. Choose one with --split"):
        evaluations.compare(runs[0], one)


def language_model(folder, nats, characters, sha256="1" * 64):
    folder.mkdir()
    sizes = {"nats": nats, "characters": characters, "bytes": [2 * each for each in characters]}
    found = scores.language_model(*sizes.values())
    own = {"format": 1, "task": "continue", "split": "valid", "count": len(nats), "sha256": sha256}
    own |= {"scored_by": "language_model", "options": {}, "lengths": [], "scores": found}
    evaluations.path(folder, "valid").write_text(json.dumps(own | sizes))
    return folder


def test_language_models_with_the_same_windows(tmp_path):
    nats = [float(5 + number % 7) for number in range(60)]
    one = language_model(tmp_path / "a", nats, [10.0] * 60)
    other = language_model(tmp_path / "b", [each - 1 for each in nats], [10.0] * 60)
    found = evaluations.compare(one, other)
    assert found["count"] == 60 and found["scores"]["nats_per_character"]["difference"] == pytest.approx(-0.1)
    assert found["scores"]["nats_per_character"]["better"] == found["scores"]["bits_per_byte"]["better"] == "b"
    assert found["differ"][0]["input"] == "characters 1 to 10" and len(found["by_group"]) == 10


def test_language_models_with_other_windows_keep_their_totals(tmp_path):
    random = np.random.default_rng(0)
    sides = []
    for name, count in (("a", 80), ("b", 53)):
        characters = random.integers(5, 20, count).astype(float)
        characters *= 1000 / characters.sum()
        sides.append((tmp_path / name, (random.random(count) * 20).tolist(), characters.tolist()))
    found = evaluations.compare(*(language_model(*side) for side in sides))
    assert found["count"] == 53 // 2
    for side, (_, nats, _) in zip("ab", sides, strict=True):
        assert found["scores"]["nats_per_character"][side] == pytest.approx(sum(nats) / 1000)
        assert found["scores"]["bits_per_byte"][side] == pytest.approx(sum(nats) / 2000 / np.log(2))


def test_a_model_that_costs_the_same_everywhere_differs_nowhere(tmp_path):
    """Nats that lie evenly over the characters are cut at any place without an error."""
    one = language_model(tmp_path / "a", [10.0] * 40, [5.0] * 40)
    other = language_model(tmp_path / "b", [20.0] * 20, [10.0] * 20)
    found = evaluations.compare(one, other)["scores"]["nats_per_character"]
    assert found["difference"] == pytest.approx(0, abs=1e-12) and found["difference_interval"] == pytest.approx([0, 0])
