"""Fine-tuning: a training begins with the weights of a run or an artefact, some of them frozen or with other rates."""

import json
import shutil
import tomllib

import keras
import numpy as np
import pytest
from keras import ops

from tests.recipes.small import recipe, write_corpus
from tests.runs.conftest import STEPS
from zoo import recipes, runs
from zoo.recipes.folder import resolve_initial
from zoo.runs.takeover import prepare_takeover
from zoo.tasks.parts.building import build_model
from zoo.text import Tokenizer
from zoo.training import named_weights


def weights(run):
    """`{path: array}` of a run's model."""
    model = keras.models.load_model(run / "model.keras", compile=False)
    return {path: ops.convert_to_numpy(weight) for path, weight in named_weights(model).items()}


def tuned(base, kind="classifier", *overrides, **training):
    """A recipe that begins with a run."""
    return recipe(kind, *overrides, training={**STEPS, "init": str(base), **training})


def same(one, other):
    """The paths of the weights that are equal bit for bit."""
    return {path for path in one if path in other and np.array_equal(one[path], other[path])}


@pytest.mark.slow
def test_weights_and_vocabulary_are_kept(base, tmp_path):
    """All but the readout is frozen, so what was taken is still there behind a step."""
    run, data = base
    lines = []
    summary = runs.train(tuned(run, freeze=["embedding", "encoder"]), tmp_path / "run", data, log=lines.append)
    old, new = weights(run), weights(tmp_path / "run")
    assert same(old, new) == {path for path in old if not path.startswith("readout")} == set(summary["frozen"])
    assert (tmp_path / "run/source.spm").read_bytes() == (run / "source.spm").read_bytes()
    record = summary["init"]
    assert record == json.loads((tmp_path / "run/init.json").read_text())
    assert set(record["taken"]) == set(old) and record["new"] == []
    assert f"{run}: took {len(old)} of {len(old)} weights" in lines
    head, whole = (sum(new[path].size for path in paths) for paths in (set(old) - same(old, new), old))
    assert f"{head:,} of {whole:,} weights are trained ({head / whole:.1%})" in lines


@pytest.mark.slow
def test_the_first_step_begins_where_the_other_run_ended(base, tmp_path):
    """With a learning rate of next to nothing the model is the initial one, and its validation is that of the run."""
    run, data = base
    summary = runs.train(tuned(run, learning_rate=1e-12), tmp_path / "run", data)
    before = json.loads((run / "training.json").read_text())["valid"]
    assert summary["valid"]["nll"] == pytest.approx(before["nll"], rel=1e-5)
    old, new = weights(run), weights(tmp_path / "run")
    assert all(np.allclose(old[path], new[path], atol=1e-6) for path in old)


@pytest.mark.slow
def test_another_vocabulary_keeps_the_rows_of_the_pieces_that_both_have(base, tmp_path):
    run, _ = base
    one = tuned(run, "classifier", "text.vocab_size=24", "text.pieces=char", vocabulary="map", freeze=["embedding"])
    data, lines = write_corpus(one, tmp_path / "data"), []
    for path in data.iterdir():
        path.write_text(path.read_text().replace("done", "läuft"))
    summary = runs.train(one, tmp_path / "run", data, log=lines.append)
    old, new = (Tokenizer.load(each / "source.spm").pieces for each in (run, tmp_path / "run"))
    both = [piece for piece in new if piece in old]
    assert 8 < len(both) < len(new)
    before, after = (weights(each)["embedding/matrix"] for each in (run, tmp_path / "run"))
    fresh = ops.convert_to_numpy(build_model(one.job, one, len(new), 3).embedding.matrix)
    for number, piece in enumerate(new):
        np.testing.assert_array_equal(after[number], before[old.index(piece)] if piece in both else fresh[number])
    assert summary["init"]["vocabularies"] == {"source": {"pieces": len(new), "taken": len(both)}}
    assert f"{len(both)} of {len(new)} source pieces are known" in "".join(lines)


@pytest.mark.slow
def test_other_labels_have_a_new_readout(base, tmp_path):
    run, _ = base
    one = tuned(run, freeze=["embedding"])
    data = write_corpus(one, tmp_path / "data")
    for path in data.iterdir():
        path.write_text(path.read_text().replace("HUM:", "ABBR:"))
    record = runs.train(one, tmp_path / "run", data)["init"]
    assert record["new"] == ["readout/kernel", "readout/bias"]
    assert "embedding/matrix" in record["taken"]


@pytest.mark.slow
def test_another_task_takes_what_it_has_in_common(base, tmp_path):
    """A tagger has the classifier's encoder, and a readout of its own."""
    run, _ = base
    one = tuned(run, "tagger", "embedding=tokens", "text.noise.rare=0", freeze=["encoder"])
    record = runs.train(one, tmp_path / "run", write_corpus(one, tmp_path / "data"))["init"]
    assert record["new"] == ["readout/kernel", "readout/bias"] and len(record["taken"]) > 10
    old, new = weights(run), weights(tmp_path / "run")
    assert {path for path in old if path.startswith("encoder")} <= same(old, new)


@pytest.fixture
def artefact(base, tmp_path):
    """What `seqzoo export` writes of the run, as far as a training reads it."""
    path = tmp_path / "artefacts" / "small" / "3"
    path.mkdir(parents=True)
    for name in ("model.keras", "recipe.toml", "source.spm"):
        shutil.copy(base[0] / name, path)
    labels = json.loads((base[0] / "labels.json").read_text())
    (path / "manifest.json").write_text(json.dumps({"labels": labels}))
    return path


@pytest.mark.slow
def test_an_artefact_is_as_good_as_a_run(base, artefact, tmp_path):
    record = runs.train(tuned(artefact, freeze=["embedding"]), tmp_path / "run", base[1])["init"]
    assert record["new"] == [] and record["from"] == str(artefact)
    with pytest.raises(ValueError, match=r"has the versions 3 of an artefact. Name one, such as .*small/3\."):
        resolve_initial(tuned(artefact.parent))


WRONG = {  # what the recipe says -> the message, before any data are read
    "there is no folder nowhere": lambda run: tuned("nowhere"),
    "is neither a finished run nor an artefact: it lacks recipe.toml, model.keras": lambda run: tuned(
        run / "checkpoint"
    ),
    r"have other sizes: encoder/.*query_projection/kernel \(\(4, 4\) there, \(6, 6\) here\).*model.units is 4 there": (
        lambda run: tuned(run, "classifier", "model.units=6")
    ),
    r"model.hidden_units is 6 there and 8 here": lambda run: tuned(run, "classifier", "model.hidden_units=8"),
    "training.freeze has the pattern 'encodr', which none of the .* weights has. The nearest are encoder": (
        lambda run: tuned(run, freeze=["encodr"])
    ),
    r"training.rates has the pattern 'decoder/\*', which none": lambda run: tuned(run, rates={"decoder/*": 0.1}),
    "training.freeze selects all": lambda run: tuned(run, freeze=["*"]),
    "training.rates has the pattern 'encoder', whose weights are not trained": (
        lambda run: tuned(run, freeze=["encoder"], rates={"encoder": 0.1})
    ),
    r"text.vocab_size=50 has no effect: the vocabularies of .* are kept, where it is 30": (
        lambda run: tuned(run, "classifier", "text.vocab_size=50")
    ),
    r"cannot be kept: there is one of source, and this recipe \(task translate\) needs one of source and target": (
        lambda run: tuned(run, "transformer")
    ),
    "has no weight in common with this one": (
        lambda run: recipe("seq2seq", training={**STEPS, "init": str(run), "vocabulary": "map"})
    ),
}


@pytest.mark.slow
@pytest.mark.release(but=1)
@pytest.mark.parametrize("message", WRONG)
def test_what_does_not_fit_is_told_before_the_data_are_read(message, base, tmp_path, monkeypatch):
    from zoo.runs import training

    monkeypatch.setattr(training, "make_parts", lambda *args: pytest.fail("the data were read"))
    one = WRONG[message](base[0])
    with pytest.raises(ValueError, match=message):
        runs.train(one, tmp_path / "run", write_corpus(one, tmp_path / "data"))
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_kept_vocabularies_decide_what_the_recipe_says_of_them(base):
    one, initial = resolve_initial(tuned(base[0], "classifier"))
    assert one.text.vocab_size == 30 and initial.labels == ("HUM", "LOC", "NUM")
    shorter, _ = resolve_initial(
        recipes.make({"name": "a", "task": "tag", "data": "tagged", "training": {"init": str(base[0])}})
    )
    assert shorter.text.vocab_size == 30, "the recipe said nothing of it"


@pytest.mark.release
@pytest.mark.parametrize("kind", ["classifier", "language_model"])
def test_a_fine_tuned_run_goes_on_where_it_was(kind, tmp_path):
    """Bit for bit, with frozen weights, factors and decay; and not with an initial run that has changed."""
    first = recipe(kind, training=STEPS)
    data = write_corpus(first, tmp_path / "data")
    runs.train(first, tmp_path / "base", data)
    own = {"freeze": ["*/attention"], "rates": {"embedding": 0.1, "*bias": 3.0}, "weight_decay": 0.1}
    settings = own | {"validate_every": 2, "average": 1, "init": str(tmp_path / "base")}
    whole, half = (recipe(kind, training=settings | {"steps": steps}) for steps in (4, 2))
    runs.train(whole, tmp_path / "whole", data)
    runs.train(half, tmp_path / "parts", data)
    runs.train(whole, tmp_path / "parts", data, resume=True)
    one, other, old = (weights(tmp_path / name) for name in ("whole", "parts", "base"))
    assert same(one, other) == set(one)
    assert same(one, old) >= {path for path in one if "/attention/" in path}
    assert "embedding/matrix" not in same(one, old)
    shutil.copy(tmp_path / "whole/model.keras", tmp_path / "base/model.keras")
    with pytest.raises(ValueError, match="these files have changed since"):
        runs.train(whole, tmp_path / "parts", data, resume=True)


def test_a_recipe_with_patterns_is_written_and_read(tmp_path):
    one = recipe("classifier", "training.rates.encoder/*=0.5", "training.freeze=['*/bias']", 'training.rates.a "b"=2')
    assert one.training.rates == {"encoder/*": 0.5, 'a "b"': 2.0} and one.training.freeze == ["*/bias"]
    (tmp_path / "mine.toml").write_text(recipes.dumps(one))
    assert recipes.load(tmp_path / "mine.toml") == one
    assert tomllib.loads(recipes.dumps(one))["training"]["rates"] == one.training.rates


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("training.vocabulary=map", "training.vocabulary='map' has no effect: it is read where init names a run"),
        ("training.vocabulary=both", "vocabulary must be one of keep, map; received 'both'"),
        ("training.rates={encoder = 0}", "rates must be a table whose values are each a number above 0"),
        ("training.freeze=encoder", "freeze must be a list, each item a text in quotation marks"),
    ],
)
def test_settings_are_checked(setting, message):
    with pytest.raises(ValueError, match=message):
        recipe("classifier", setting)


def test_nothing_is_built_where_nothing_is_asked_for():
    assert prepare_takeover(recipe("classifier"), None) is None
