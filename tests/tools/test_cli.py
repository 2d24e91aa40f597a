"""The command line: exit statuses, one-line errors, lazy imports; train, evaluate and list."""

import errno
import json
import os
import sys

import pytest

from tests.shared import python
from tools import cli
from tools.list import entries

TINY = (  # of a tagger
    *("model.units=4", "model.num_heads=2", "model.hidden_units=4", "model.num_layers=1", "text.vocab_size=40"),
    *("training.batch_size=8", "training.steps=2", "training.validate_every=1", "training.warmup=0"),
    *("training.num_buckets=1", "training.max_length=0", "training.average=1"),
)
SMALL = (
    *(
        "data.train_size=40",
        "data.valid_size=5",
        "data.test_size=6",
        "data.longest=4",
        "model.units=3",
        "training.batch_size=8",
    ),
    *(
        "training.steps=2",
        "training.validate_every=1",
        "training.warmup=0",
        "training.num_buckets=1",
        "search.max_output_length=5",
    ),
)


def arguments(out, *more):
    changes = [word for setting in SMALL for word in ("--set", setting)]
    return ["train", "reversal-gru-additive", "--out", str(out), *changes, *more]


@pytest.mark.slow
def test_train_then_evaluate(tmp_path, capsys):
    run = tmp_path / "run"
    assert cli.main(arguments(run)) == 0
    assert capsys.readouterr().out.startswith(f"{run}: 2 steps in ")

    assert cli.main(arguments(run)) == 2
    message = capsys.readouterr().err.splitlines()
    assert len(message) == 1 and "holds a run already. Continue it with --resume" in message[0]
    assert cli.main(arguments(run, "--resume", "--json")) == 0
    assert json.loads(capsys.readouterr().out)["steps"] == 2

    assert cli.main(["evaluate", str(run), "--beam", "1", "--limit", "5", "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert scores == json.loads((run / "scores.json").read_text())
    assert (scores["split"], scores["beam"], scores["sentences"]) == ("test", 1, 5)
    assert 0 <= scores["exact_match"] <= 100
    assert len((run / "test.hypotheses.txt").read_text().splitlines()) == 5
    assert cli.main(["evaluate", str(run), "--split", "valid"]) == 0
    table = capsys.readouterr().out.splitlines()
    assert table[0] == "reversal-gru-additive, valid, beam 1"
    assert table[2].split() == ["count", "5"]


@pytest.mark.slow
def test_a_tagger_is_trained_evaluated_and_listed(tmp_path, capsys):
    run, data = tmp_path / "run", tmp_path / "data"
    data.mkdir()
    lines = "".join(f"dogs number {i}\tNOUN NOUN NUM\n" for i in range(20))
    for split in ("train", "dev", "test"):
        (data / f"pos.{split}.tsv").write_text(lines)
    changes = [word for setting in TINY for word in ("--set", setting)]
    assert cli.main(["train", "ewt-pos-transformer-macaron", "--data", str(data), "--out", str(run), *changes]) == 0
    capsys.readouterr()

    assert cli.main(["evaluate", str(run), "--data", str(data), "--limit", "9"]) == 0
    table = capsys.readouterr().out.splitlines()
    scores = json.loads((run / "scores.json").read_text())
    assert table[0] == "ewt-pos-transformer-macaron, test"
    rows = [row.split() for row in table[2:]]
    assert rows[:3] == [["count", "9"], ["labels", "27"], ["cut", "0"]]
    assert rows[3][:3] == ["accuracy,", "%", f"{scores['accuracy']:.2f}"]
    tags = [line.split(" ") for line in (run / "test.hypotheses.txt").read_text().splitlines()]
    assert scores["accuracy"] == pytest.approx(
        100 * sum(one == other for row in tags for one, other in zip(row, ("NOUN", "NOUN", "NUM"), strict=True)) / 27
    )

    assert cli.main(["plot", "by-length", str(run), "--out", str(tmp_path / "x.png")]) == 2
    assert "has no scores by length" in capsys.readouterr().err


def test_wrong_use_is_2(tmp_path, capsys):
    assert cli.main(["train", "dates-gru-aditive"]) == 2
    assert "Did you mean 'dates-gru-additive'?" in capsys.readouterr().err
    assert cli.main(arguments(tmp_path, "--set", "unit=3")) == 2
    assert "unknown setting 'unit'. Did you mean model.units?" in capsys.readouterr().err
    for wrong in ([], ["bogus"], ["train"], ["list", "--no-such-option"]):
        with pytest.raises(SystemExit) as stop:
            cli.main(wrong)
        assert stop.value.code == 2


def test_wrong_use_is_2_and_one_line(tmp_path, capsys):
    assert cli.main(["evaluate", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("seqzoo evaluate: ") and error.count("\n") == 1
    assert "is not a finished run" in error
    assert cli.main(["train", "multi30k-de-en-gru-dot", "--out", str(tmp_path / "x")]) == 2
    assert "name their directory, for example with --data" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_a_file_in_the_place_of_a_folder_is_told(tmp_path, capsys):
    (tmp_path / "file").touch()
    assert cli.main(["hub", "package", "dates", "--out", str(tmp_path / "file")]) == 1
    assert "file: File exists. A file lies where a folder is needed: choose another place" in capsys.readouterr().err


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES])
def test_a_place_that_may_not_be_written_is_told_with_a_remedy(number):
    error = OSError(number, os.strerror(number), "there/x.toml")
    assert cli._describe(error) == f"there/x.toml: {os.strerror(number)}. {cli.CLOSED}"


def test_a_recipe_that_cannot_be_read_is_told(tmp_path, monkeypatch, capsys):
    (tmp_path / "mine.toml").touch()

    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.read_text", refuse)
    assert cli.main(["train", str(tmp_path / "mine.toml")]) == 2
    assert "mine.toml cannot be read: Permission denied. Expected a recipe that may be" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "Unable to allocate 24 GiB for an array"])
def test_too_little_memory_is_told_in_one_line(monkeypatch, capsys, text):
    monkeypatch.setattr("tools.list.catalogue", lambda: (_ for _ in ()).throw(MemoryError(text)))
    assert cli.main(["list"]) == 1
    expected = f"seqzoo list: {text or 'this machine has too little memory'}. {cli.TOO_LARGE}\n"
    assert capsys.readouterr().err == expected


def test_a_missing_package_is_named_with_its_remedy(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "zoo.recipes", None)
    monkeypatch.setitem(sys.modules, "zoo", None)
    error = ModuleNotFoundError("No module named 'sacrebleu'", name="sacrebleu")
    monkeypatch.setattr("tools.list.catalogue", lambda: (_ for _ in ()).throw(error))
    assert cli.main(["list"]) == 1
    expected = "seqzoo list: sacrebleu is not installed: pip install 'seqzoo[train]'\n"
    assert capsys.readouterr().err == expected


@pytest.mark.parametrize(
    ("chosen", "module", "remedy"),
    [
        ("new", "babel", "'seqzoo[train]'"),
        ("train", "babel", "'seqzoo[tensorflow]' (or 'seqzoo[jax]', with KERAS_BACKEND=jax)"),
        ("evaluate", "keras", "'seqzoo[tensorflow]' (or 'seqzoo[jax]', with KERAS_BACKEND=jax)"),
        ("export", "babel", "'seqzoo[tensorflow]'"),
        ("verify", "tensorflow_text", "'seqzoo[tensorflow]'"),
        ("train", "jax", "'seqzoo[jax]'"),
        ("hub publish", "babel", "'seqzoo[tensorflow]'"),
        ("hub fetch", "babel", "'seqzoo[train]'"),
        ("import", "yaml", "'seqzoo[tensorflow]'"),
        ("deploy", "yaml", "'seqzoo[deploy]'"),
        ("plot", "matplotlib", "'seqzoo[plot]'"),
    ],
)
def test_one_install_brings_all_that_a_command_needs(chosen, module, remedy):
    error = ModuleNotFoundError(f"No module named {module!r}", name=module)
    assert cli._describe_missing(error, chosen) == f"{module} is not installed: pip install {remedy}"


@pytest.fixture
def no_models(tmp_path, monkeypatch):
    """A hub without a model, so that `seqzoo list` shows recipes alone."""
    monkeypatch.setenv("SEQZOO_HUB", str(tmp_path))
    (tmp_path / "index.json").write_text('{"format": 1, "models": []}')


def test_list_needs_no_keras():
    code = (
        "import sys; sys.modules.update(dict.fromkeys(('keras', 'tensorflow', 'jax')));"
        "from tools.cli import main; status = main(['list', '--json']);"
        "assert {name for name in sys.modules if name[:4] == 'zoo.'} & {'zoo.recipes', 'zoo.models'} == set();"
        "sys.exit(status)"
    )
    found = json.loads(python("-c", code).stdout)["recipes"]
    assert "dates-gru-additive" in [entry["name"] for entry in found]
    assert all({"name", "system", "task", "scores"} <= entry.keys() for entry in found)


@pytest.mark.parametrize(
    ("scores", "shown"),
    [
        ({"bleu": 31.25, "beam": 4}, "BLEU 31.2"),
        ({"nats_per_character": 1.85149}, "1.851 nats/character"),
        ({"accuracy": 94.26}, "accuracy 94.3"),
        ({"accuracy": 99.99}, "accuracy 99.9"),  # no score below 100 is shown as 100
        ({"accuracy": 99.94}, "accuracy 99.9"),
        ({"accuracy": 100.0}, "accuracy 100.0"),
    ],
)
def test_list_shows_measured_scores(tmp_path, monkeypatch, capsys, no_models, scores, shown):
    (tmp_path / "a.toml").write_text('name = "a"\nsystem = "recurrent"\ntask = "t"\ndescription = "d"\n')
    (tmp_path / "b.toml").write_text('extends = "a"\nname = "b"\n')
    (tmp_path / "scores.json").write_text(json.dumps({"b": scores}))
    assert [entry["scores"] for entry in entries(tmp_path)] == [{}, scores]
    monkeypatch.setattr("tools.list.catalogue", lambda: tmp_path)
    assert cli.main(["list"]) == 0
    header, first, second = (" ".join(line.split()) for line in capsys.readouterr().out.splitlines())
    assert header == "NAME SYSTEM TASK SCORES" and first == "a recurrent t not measured"
    assert second == f"b recurrent t {shown}"


def test_list_shows_the_languages_of_a_task(tmp_path):
    own = '[data]\nsource_language = "de"\ntarget_language = "en"\n'
    (tmp_path / "a.toml").write_text('name = "a"\nsystem = "s"\ntask = "t"\ndescription = "d"\n' + own)
    (tmp_path / "b.toml").write_text('extends = "a"\nname = "b"\n[data]\ntarget_language = "fr"\n')
    assert [entry["languages"] for entry in entries(tmp_path)] == [["de", "en"], ["de", "fr"]]


def test_evaluate_prints_counts_whole_and_no_score_rounded_up_to_100():
    from tools.evaluate import _table

    scores = {"split": "test", "count": 25000, "labels": 1234567, "accuracy": 99.996, "nats_per_character": 1.85149}
    scores |= {"accuracy_interval": [99.9, 100.0], "nats_per_character_interval": [1.8, 1.91234]}
    table = _table("a", scores).splitlines()
    assert table[0] == "a, test" and table[1].split() == ["95", "%", "interval"]
    assert [" ".join(row.split()) for row in table[2:]] == [
        "count 25,000",
        "labels 1,234,567",
        "accuracy, % 99.99 99.90 to 100.00",
        "nats per character 1.851 1.8 to 1.912",
    ]
    by_length = [{"from": 1, "to": 9, "sentences": 25000, "exact_match": 99.996}]
    one = {"split": "test", "beam": 1, "exact_match": 99.996, "exact_match_interval": [99.9, 100.0]}
    table = _table("a", one | {"by_length": by_length}).splitlines()
    assert table[0] == "a, test, beam 1" and table[-1].split() == ["1-9", "25,000", "99.99"]


def test_after_two_hyphens_nothing_is_an_option():
    for argv in (["run", "--json", "--", "DIR", "-text"], ["run", "DIR", "--json", "--", "-text"]):
        args = cli.parse(argv)
        assert (args.directory, args.texts, args.json) == ("DIR", ["-text"], True)
    args = cli.parse(["run", "DIR", "first", "--", "--json", "--", "two words"])
    assert (args.texts, args.json) == (["first", "--json", "--", "two words"], False)
    assert cli.parse(["list", "--"]).json is False


def test_record_enters_the_scores_of_a_run(tmp_path, monkeypatch):
    from tools.evaluate import _record
    from zoo import recipes

    one = recipes.load("dates-gru-additive")
    monkeypatch.setattr("zoo.recipes.files.CATALOGUE", tmp_path)
    training = dict.fromkeys(("steps", "training_seconds", "parameters", "backend", "keras", "data_sha256"), 1)
    (tmp_path / "training.json").write_text(json.dumps(training | {"shapes": []}))
    path = tmp_path / "scores.json"
    path.write_text('{"z": {"bleu": 1.0}}')
    _record(one, {"exact_match": 99.0}, tmp_path)
    table = json.loads(path.read_text())
    assert list(table) == ["dates-gru-additive", "z"]
    assert table["dates-gru-additive"] == {"exact_match": 99.0, "training": training}


def test_what_the_encoding_of_the_output_lacks_is_escaped(tmp_path):
    """In a locale of ASCII or Latin-1; what a model has answered may hold any character."""
    (tmp_path / "a.toml").write_text('name = "a"\ntask = "transduce"\ndescription = "Zoë"\n[data]\ncorpus = "files"\n')
    told = python("-m", "tools", "list", tmp_path / "a.toml", PYTHONIOENCODING="ascii").stdout
    assert "Zo\\xeb" in told


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["serve", "dates", "--keys", ""], "--keys"),
        (["serve", "dates", "--proxy=", "--keys", "k"], "--proxy"),
        (["hub", "fetch", "dates", "--all", "--public-key", ""], "--public-key"),
        (["run", "--server", "", "dates", "a text"], "--server"),
        (["run", "", "a text"], "MODEL"),
        (["list", ""], "NAME"),
    ],
)
def test_an_empty_argument_is_refused(words, name, capsys):
    """It would count as not given, and a server would let everybody in."""
    with pytest.raises(SystemExit) as stop:
        cli.main(words)
    assert stop.value.code == 2
    assert f"argument {name}: expected a value, received an empty one" in capsys.readouterr().err


def test_texts_may_be_empty():
    given = cli.parse(["run", "dates", "", "--prefix", "", "--bad-words", ""])
    assert (given.texts, given.prefix, given.bad_words) == ([""], "", [""])
