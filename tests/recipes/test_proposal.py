"""`seqzoo new`: what it writes is a recipe with a meaning beside every setting, and trains as it is."""

import json
import tomllib

import pytest

from tests.data.formats.test_written import CASES, HERE
from tests.shared import mostly_at_releases
from tools import cli
from zoo import recipes
from zoo.recipes.proposal import dumps_with_comments, group_by_split
from zoo.tasks import TASKS

TRAINS = [task for task in TASKS.values() if not task.init_needed]
JOBS = [(task.name, names) for task in TRAINS for kind, names in CASES if kind == task.kind]


def new(*words):
    return cli.main(["new", *map(str, words)])


def paths(kind, names):
    return [HERE / f"{kind}{name}" for name in names]


def parts(task, names):
    """Options that name a file for each split: three lines of running text are too few to be cut."""
    own = str(paths(TASKS[task].kind, names)[0])
    return [f"--set=data.{split}={own}" for split in ("valid", "test")] if task == "continue" else []


def test_every_task_has_files_of_six_tools():
    assert {task: sum(job == task for job, _ in JOBS) for task in TASKS} == {
        task.name: 6 * (task in TRAINS) for task in TASKS.values()
    }


@pytest.mark.parametrize(("task", "names"), JOBS, ids=lambda case: "".join(case))
def test_what_is_written_is_a_recipe_with_a_meaning_beside_every_setting(task, names, tmp_path, capsys):
    out = tmp_path / "mine.toml"
    assert new(task, *paths(TASKS[task].kind, names), *parts(task, names), "--out", out) == 0
    told = capsys.readouterr()
    assert told.out == f"{out}: train it with `seqzoo train {out} --out runs/mine`\n"
    assert (" characters: train " if task == "continue" else " examples: train ") in told.err
    text = out.read_text(encoding="utf-8")
    recipe = recipes.load(out)
    assert (recipe.name, recipe.task) == ("mine", task)
    recipes.check_data(recipe, ("train", "valid", "test"))
    where = ""
    for line in filter(None, text.splitlines()):
        where = line if line.startswith("[") else where
        if "=" in line and not line.startswith(("#", "[")) and not where.startswith("[data.columns]"):
            value, mark, meaning = line.partition(" # ")
            assert mark and len(meaning) > 5, line
            assert tomllib.loads(value)
    told = {(each["table"], each["setting"]): each["meaning"] for each in recipes.explain(recipe)}
    assert all(told.values()), [key for key, meaning in told.items() if not meaning]


def test_a_tagger_learns_how_its_data_cut_words_and_says_why(home, capsys):
    sentence = "Do\tV\nn't\tA\nask\tV\n{}\tN\n!\tP\n\n"
    (home / "pos.conll").write_text("".join(sentence.format(f"w{number}") for number in range(30)))
    assert new("tag", "pos.conll", "--out", "new.toml") == 0
    assert recipes.load("new.toml").text.words == "treebank"
    told = "spaces 20.0 %, punctuation 60.0 %, treebank 100.0 % are found again"
    assert told in capsys.readouterr().err and told in (home / "new.toml").read_text()


@pytest.mark.parametrize(
    ("train", "valid", "test"),
    [
        ("all.csv", "", ""),
        ("train.de train.en", "", "test.de test.en"),
        ("en_ewt-ud-train.conllu", "en_ewt-ud-dev.conllu", ""),
        ("eng.train", "eng.testa", "eng.testb"),
        ("latest.csv devices.csv", "val.csv", ""),  # words of a name count, not parts of them
        ("hf://a/test:train", "hf://a/test:validation", "hf://a/test:test"),
        ("data/test/train.txt", "", ""),  # a folder's name says nothing
    ],
)
def test_names_say_the_split(train, valid, test):
    splits = {"train": train.split(), "valid": valid.split(), "test": test.split()}
    files = [*splits["test"], *splits["train"], *splits["valid"]]
    assert group_by_split(files) == {name: own for name, own in splits.items() if own}


def test_files_of_each_split_stand_in_the_recipe(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, count in (("train", 9), ("dev", 3), ("test", 2)):
        rows = "".join(f"{name} {number},{'ab'[number % 2]}\n" for number in range(count))
        (tmp_path / f"{name}.csv").write_text("text,label\n" + rows)
    assert new("classify", "test.csv", "train.csv", "dev.csv", "--out", "mine.toml") == 0
    own = recipes.load("mine.toml")
    assert (own.data.train, own.data.valid, own.data.test) == ("train.csv", "dev.csv", "test.csv")
    assert own.data.test_share == 0 and own.data.columns == {"text": "text", "label": "label"}
    assert "14 examples: train 9, valid 3, test 2" in capsys.readouterr().err
    counts = [len(recipes.read(own, split)[0]) for split in ("train", "valid", "test")]
    assert counts == [9, 3, 2]


def test_what_is_decided_already_is_read_and_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.csv").write_bytes("a;É 1;x\nb;É 2;y\nc;É 3;x\n".encode("cp1252"))
    said = ["data.encoding=cp1252", "data.columns.text=2", "data.columns.label=3", "model=recurrent", "data.test=t.csv"]
    (tmp_path / "t.csv").write_bytes("d;É 4;x\n".encode("cp1252"))
    assert new("classify", "mine.csv", "--out", "mine.toml", *(word for each in said for word in ("--set", each))) == 0
    own = recipes.load("mine.toml")
    assert own.data.encoding == "cp1252" and own.data.columns == {"text": 2, "label": 3, "header": False}
    assert own.model.kind == "recurrent" and own.data.test_share == 0
    assert recipes.read(own, "test") == (["É 4"], ["x"])
    assert sorted(recipes.read(own, "train")[0] + recipes.read(own, "valid")[0]) == ["É 1", "É 2", "É 3"]


def test_a_name_that_no_recipe_may_have_is_changed(home, capsys):
    assert new("classify", "ok.csv", "--out", "my reviews.toml") == 0
    assert recipes.load("my reviews.toml").name == "my-reviews"
    assert "`seqzoo train 'my reviews.toml' --out runs/my-reviews`" in capsys.readouterr().out


BROKEN = [
    (
        "continue one.txt --out new.toml",
        "one.txt: a text of 9 characters has too few lines to be cut into train, valid",
    ),
    ("translate two.tsv --out new.toml", "two.tsv: 2 different inputs cannot be cut into train, valid, test"),
    ("classify {ok} dev.csv --out new.toml", "dev.csv:2: 3 columns"),
    ("classify three.csv --out new.toml", "have 2 examples, all with the label 'pos'; expected 2 labels"),
    ("classify {ok} --set data.encodin=x --out new.toml", "has no setting 'encodin'. Did you mean 'encoding'"),
    ("classify {ok} --set data.encoding=x --out new.toml", "encoding must be a name that Python knows"),
    ("classify {ok} --set task=tag --out new.toml", "the recipe is for the task classify; received task='tag'. Leave"),
    ("clasify {ok} --out new.toml", "There is no task 'clasify'. Did you mean 'classify'? The tasks are"),
    ("classify {ok} --out taken.toml", "taken.toml exists. Choose another --out, or write over it with --force"),
    ("classify {ok} --out new.json", "--out is the name of a recipe, a file that ends in .toml; received 'new.json'"),
    ("classify none.csv --out new.toml", "There is no file none.csv"),
    ("classify {bad} --out new.toml", "broken.csv:2: 3 columns"),
    ("classify test.csv --out new.toml", "None of the files is for training: test.csv"),
    ("classify {ok} ./{ok} --out new.toml", "ok.csv is given twice, by its name or by a link to it. Name each file"),
]


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ok.csv").write_text("text,label\n" + "".join(f"good {at},pos\nbad {at},neg\n" for at in range(9)))
    (tmp_path / "three.csv").write_text("text,label\ngood,pos\nbad,neg\nfine,pos\n")
    (tmp_path / "broken.csv").write_text("text,label\nGood, really,pos\nBad,neg\n")
    (tmp_path / "one.txt").write_text("one line")
    (tmp_path / "two.tsv").write_text("dog\tHund\ncat\tKatze\n")
    (tmp_path / "dev.csv").write_text("text,label\nGood, really,pos\n")
    (tmp_path / "taken.toml").write_text("mine")
    (tmp_path / "tables.toml").write_text(recipes.dumps(recipes.load("trec-star")))
    return tmp_path


@pytest.mark.parametrize(("words", "said"), BROKEN)
def test_what_is_wrong_is_told_and_nothing_is_written(words, said, home, capsys):
    before = {path: path.read_bytes() for path in home.iterdir()}
    assert new(*words.format(ok="ok.csv", bad="broken.csv").split()) == 2
    assert said in capsys.readouterr().err
    assert {path: path.read_bytes() for path in home.iterdir()} == before


def test_a_file_that_is_there_is_written_over_on_demand(home):
    assert new("classify", "ok.csv", "--out", "taken.toml", "--force") == 0
    assert recipes.load("taken.toml").task == "classify"


def test_comments_are_refused_for_what_is_no_recipe():
    with pytest.raises(ValueError, match="Did you mean 'steps'"):
        dumps_with_comments({"name": "x", "task": "classify", "training": {"step": 3}})


TINY = {"training.steps": 2, "training.validate_every": 1, "training.warmup": 0, "training.batch_size": 3}
TINY |= {"model.units": 8, "model.num_layers": 1, "search.max_output_length": 4}
TRAINED = [(task, names) for number, (task, names) in enumerate(JOBS) if number % 6 in (0, 4) and task != "continue"]
LEADING = {
    "translate": "bleu",
    "transduce": "wer",
    "tag": "accuracy",
    "continue": "nats_per_character",
} | dict.fromkeys(("rate", "rate_pairs"), "mae")


def trained(capsys, *changes):
    """The scores of mine.toml, trained as it is but for the sizes, which a corpus of three examples does not fill."""
    own = recipes.load("mine.toml", changes)
    known = {f"{each['table']}.{each['setting']}" for each in recipes.explain(own)}
    sizes = [*changes, *(f"{key}={value}" for key, value in TINY.items() if key in known)]
    assert cli.main(["train", "mine.toml", "--out", "run", *(word for each in sizes for word in ("--set", each))]) == 0
    capsys.readouterr()
    assert cli.main(["evaluate", "run", "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert (scores["task"], scores["split"]) == (own.task, "test")
    return scores


@pytest.mark.release(but="tag--lists.csv")
@pytest.mark.slow
@pytest.mark.parametrize(("task", "names"), mostly_at_releases(TRAINED, 5), ids=lambda case: "".join(case))
def test_what_is_written_trains_and_is_scored(task, names, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert new(task, *paths(TASKS[task].kind, names), "--out", "mine.toml") == 0
    own = paths(TASKS[task].kind, names)[0]  # four pairs of three labels, of which a part may have another one
    changes = [f"data.{split}={own}" for split in ("valid", "test")] if task == "compare" else []
    scores, name = trained(capsys, *changes), LEADING.get(task, "macro_f1")
    assert scores[name] >= 0 and len(scores[f"{name}_interval"]) == 2


@pytest.mark.release(but=1)
@pytest.mark.slow
@pytest.mark.parametrize("ending", ["txt", "jsonl"])
def test_what_is_written_for_running_text_trains_and_is_scored(ending, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    lines = [f"Line {number} of a text that goes on." for number in range(60)]
    lines = [json.dumps({"text": line}) for line in lines] if ending == "jsonl" else lines
    (tmp_path / f"text.{ending}").write_text("".join(f"{line}\n" for line in lines))
    assert new("continue", f"text.{ending}", "--out", "mine.toml") == 0
    scores = trained(capsys, "model.context=8")
    assert 0 < scores["nats_per_character"] < 8 and len(scores["nats_per_character_interval"]) == 2


@pytest.mark.slow
def test_a_label_that_the_validation_alone_has_is_told(tmp_path, capsys):
    """A hash puts rare labels where it likes."""
    for name, labels in (("train", "ab"), ("valid", "abc")):
        rows = "".join(f"{label} {number},{label}\n" for number in range(4) for label in labels)
        (tmp_path / f"{name}.csv").write_text("text,label\n" + rows)
    out = tmp_path / "mine.toml"
    assert new("classify", tmp_path / "train.csv", tmp_path / "valid.csv", "--out", out) == 0
    sizes = [word for key, value in list(TINY.items())[:6] for word in ("--set", f"{key}={value}")]
    assert cli.main(["train", str(out), "--out", str(tmp_path / "run"), *sizes]) == 0
    assert "valid: labels that the training does not have: 'c' (4 times)" in capsys.readouterr().err
    assert json.loads((tmp_path / "run" / "labels.json").read_text()) == ["a", "b", "c"]
