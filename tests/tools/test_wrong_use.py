"""Wrong use of every command is told at once: no framework is imported to find it."""

import json

import pytest

from tests.recipes.small import recipe
from tests.serving import fake_artefact
from tests.shared import python
from zoo import recipes

FRAMEWORKS = ("keras", "tensorflow", "jax", "torch", "tensorflow_text", "matplotlib")
PROGRAM = """
import contextlib, io, json, sys, time
from tools.cli import main
found = []
for words in json.load(sys.stdin):
    error, start = io.StringIO(), time.process_time()
    with contextlib.redirect_stderr(error), contextlib.redirect_stdout(error):
        try:
            status = main(words)
        except SystemExit as stop:
            status = stop.code
    imported = [name for name in FRAMEWORKS if name in sys.modules]
    found.append([status, error.getvalue(), time.process_time() - start, imported])
print(json.dumps(found))
"""
CASES = [
    ("new", "clasify some.csv --out new.toml", "There is no task 'clasify'. Did you mean 'classify'?"),
    ("new", "classify nowhere.csv --out new.toml", "There is no file nowhere.csv"),
    ("new", "classify broken.csv --out new.toml", "broken.csv:2: 3 columns"),
    ("new", "classify worse.csv --out new.toml", "2 problems in the data:\n  worse.csv:2: 3 columns"),
    ("new", "classify some.csv", "the following arguments are required: --out"),
    ("new", "classify some.csv --out new.json", "a file that ends in .toml; received 'new.json'"),
    ("new", "classify some.csv --out run/recipe.toml", "recipe.toml exists. Choose another --out"),
    ("train", "there", "unknown recipe 'there'"),
    (
        "train",
        "some.csv",
        "some.csv is no recipe, which is a .toml file. Write one for your data with `seqzoo new TASK",
    ),
    ("train", "run", "run is the folder of a run, whose recipe is run/recipe.toml."),
    ("train", "xyz", "unknown recipe 'xyz'. `seqzoo list` shows those of the zoo; one of your own is named by"),
    ("train", "dates-gru-additive --set unit=3", "unknown setting 'unit'. Did you mean model.units?"),
    (
        "train",
        "dates-gru-additive --set model.unit=3",
        "model = 'recurrent' has no setting 'unit'. Did you mean 'units'?",
    ),
    (
        "train",
        "dates-gru-additive --set model.units=many",
        "model.units must be a whole number of at least 1; received",
    ),
    ("train", "dates-gru-additive --set model.num_heads=3", "It is one of model = 'transformer'."),
    ("train", "dates-gru-additive --set steps", "expected table.key=value, such as training.steps=100"),
    ("train", "dates-gru-additive --set data.corpus=files", "--set data.train=FILE"),
    (
        "train",
        "dates-gru-additive --set data.corpus=files --set data.train=no.csv",
        "there is no file no.csv, which data",
    ),
    ("train", "dates-gru-additive --data some.csv", "makes its data itself, and some.csv was given as the data. Leave"),
    ("train", "own.toml --data nowhere", "there is no file or folder nowhere, which was given as the data"),
    ("train", "own.toml --out own.toml", "own.toml is a file. Choose another --out"),
    ("train", "own.toml --out own.toml/run", "own.toml is a file. Choose another --out"),
    ("train", "multi30k-de-en-gru-dot", "name their directory"),
    ("train", "multi30k-de-en-gru-dot --data nowhere", "nowhere"),
    ("train", "nothing.toml", "there is no recipe"),
    ("train", "dates-gru-additive --out run", "holds a run already"),
    ("train", "dates-gru-additive --steps 3", "unrecognized arguments: --steps"),
    ("evaluate", "nowhere", "nowhere is not a finished run, as `seqzoo train RECIPE --out DIR` makes one: there is no"),
    ("evaluate", "nowhere", "there is no such folder, and there is no model 'nowhere'"),
    ("evaluate", "some.csv", "some.csv is not a finished run: it is a file. Train one with"),
    ("evaluate", "exported", "It is an artefact, which `seqzoo export` wrote of a run: name that run."),
    ("evaluate", "run", "it lacks model.keras, "),
    ("evaluate", "run", "Finish it with `seqzoo train run/recipe.toml --out run --resume` (and --data, if it was"),
    ("train", "run/recipe.toml --out run", "run holds a run already. Continue it with --resume"),
    ("train", "own.toml --out mine", "mine is no run, and holds data.json, which a training would write over. Choose"),
    ("train", "own.toml --out mine --resume", "mine is no run, and holds data.json, which a training would write over"),
    ("evaluate", "own --data nowhere", "there is no file or folder nowhere, which was given as the data"),
    ("evaluate", "own --mistakes some.csv", "--mistakes some.csv would write over the examples. Choose another name."),
    ("evaluate", "own --data echo --mistakes ./echo/some.csv", "some.csv would write over the examples. Choose a"),
    ("evaluate", "own --data worse.csv --mistakes worse.csv", "--mistakes worse.csv would write over the examples."),
    ("evaluate", "own --mistakes own/labels.json", "own/labels.json would write over a file of the run. Choose a"),
    ("evaluate", "run --beam 0", "argument --beam: expected a whole number of at least 1, received '0'"),
    ("evaluate", "classes --beam 3", "the task 'classify' is scored without a search, which --beam would change."),
    ("evaluate", "run --limit -3", "--limit: expected"),
    ("export", "nowhere", "No run or artefact at nowhere: there is no such directory, and"),
    ("export", "./nowhere", "nowhere is not a finished run"),
    ("export", "finished --version 0", "--version: expected a whole number of at least 1"),
    ("export", "finished --out . --name echo --version 1", "echo/1 exists. Choose another --version"),
    ("export", "finished --name ../up", "is that of a folder, 1 to 200 printable characters without slashes; receiv"),
    ("export", f"finished --name {'x' * 201}", "is that of a folder, 1 to 200 printable characters without slashes;"),
    ("export", "finished --beam 2.5", "--beam: expected a whole number"),
    ("export", "finished --max-input 1", "--max-input counts the end of sentence, so it is at least 2; received 1"),
    ("export", "classes --beam 3", "a model of the task 'classify' has no search, which --beam would change. Leave it"),
    (
        "export",
        "classes --xla --graphs greedy --min-length 3",
        "which --xla, --graphs, --min-length would change. L",
    ),
    ("export", "finished --overlong cut", "invalid choice: 'cut'"),
    ("export", "finished --storage float8", "--storage: invalid choice: 'float8'"),
    ("export", "echo", "expected model.keras, recipe.toml, source.spm, target.spm in it, and model.keras, recipe.toml"),
    ("export", "echo --ensemble finished", "--ensemble takes runs, and echo/1 is an artefact"),
    ("verify", "nowhere", "there is no such directory"),
    ("verify", "run", "It is a training run: export it"),
    ("run", "nowhere text", "there is no such directory"),
    ("run", "", "error: the following arguments are required: MODEL\n"),
    ("run", "Nowhere text", "expected a name that `seqzoo list` shows, in small letters, such as dates"),
    ("run", "echo text --beam two", "invalid int value"),
    ("run", "echo text --beam 0", "beam must be at least 1; received 0. Beam widths of echo: [1, 4]."),
    ("run", "echo text --beam 3", "Write an artefact that has one with `seqzoo export echo/1 --beam 4 --beam 3`."),
    ("run", "echo text --plot-attention map.txt", "received map.txt"),
    ("serve", "nowhere", "there is no such directory"),
    ("serve", "run", "It is a training run: export it"),
    ("serve", "", "the following arguments are required: MODEL"),
    ("serve", "echo --http-port 70000", "expected a number from 0 to 65535; received '70000'"),
    ("serve", "echo --max-delay -1", "the longest wait must be between 0 and 1,000 milliseconds; received -1."),
    (
        "serve",
        "echo --proxy x",
        "a proxy is named by its address or network, such as 10.0.0.7 or 10.0.0.0/24; receive",
    ),
    ("serve", "echo --max-batch-texts 0", "--max-batch-texts: expected a whole number"),
    ("serve", "echo --deadline 0", "the limit 'deadline' must be more than 0; received 0.0"),
    ("serve", "echo --version-poll -1", "--version-poll must be a number of seconds, 0 or more; received -1.0"),
    ("serve", "echo --version-poll nan", "--version-poll must be a number of seconds, 0 or more; received nan"),
    ("serve", "echo --version-poll inf", "--version-poll must be a number of seconds, 0 or more; received inf"),
    ("bench", "echo --file nowhere.txt", "cannot read nowhere.txt: No such file"),
    ("bench", "nowhere", "No artefact at nowhere: there is no such directory, and "),
    ("bench", "echo --batch 0", "--batch: expected a whole number"),
    ("plot", "pie run --out x.png", "invalid choice: 'pie'"),
    ("plot", "training run", "the following arguments are required: --out"),
    ("plot", "scores nowhere --out x.png", "There is no run nowhere: expected the folder"),
    ("plot", "training nowhere --out x.png", "There is no run nowhere: expected the folder"),
    ("plot", "confusion nowhere --split valid --out x.png", "There is no run nowhere: expected the folder"),
    ("compare", "nowhere run", "There is no run nowhere: there is no such folder, and there is no model 'nowhere'"),
    ("compare", "./nowhere run", "There is no run ./nowhere: expected the folder"),
    ("compare", "run nowhere --split test", "run keeps no answers to the split test. Make them with: seqzoo evaluate"),
    ("plot", "training run --out x.bmp", "received x.bmp"),
    ("list", "trec-sta", "There is neither a recipe nor a model 'trec-sta'. Did you mean 'trec-star'"),
    ("list", "nowhere.toml", "there is no recipe nowhere.toml"),
    ("list", "trec-star trec-star", "unrecognized arguments: trec-star"),
    ("list", "--no-such-option", "unrecognized arguments: --no-such-option"),
    ("list", "nowhere@2", "There is neither a recipe nor a model 'nowhere@2'. Looked in"),
    ("list", "qqq", "`seqzoo list` shows the models that are there. A recipe of your own is named by the path"),
    ("hub", "fetch nowhere", "seqzoo hub fetch: there is no model 'nowhere'"),
    ("hub", "card nowhere --check --only speed", "--only: invalid choice: 'speed'"),
    ("bogus", "", "invalid choice: 'bogus'"),
]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """What each of the cases came to; one process for all, so that the first import of a framework would show."""
    home = tmp_path_factory.mktemp("wrong")
    fake_artefact.write(home / "echo" / "1")
    (home / "some.csv").write_text("text,label\ngood,pos\nbad,neg\n")
    (home / "worse.csv").write_text("text,label\nGood, really,pos\nBad,neg\nGood, too,pos\n")
    (home / "broken.csv").write_text("text,label\nGood, really,pos\nBad,neg\n")
    own, classes = (
        recipes.make({"name": "own", "task": task, "data": {"corpus": "files", "train": "some.csv"}})
        for task in ("transduce", "classify")
    )
    (home / "own.toml").write_text(recipes.dumps(own))
    (home / "mine").mkdir()
    (home / "mine" / "data.json").write_text("[]")
    ready = ["model.keras", "source.spm", "target.spm", "labels.json"]
    runs = {
        "exported": (recipe(), ["manifest.json"]),
        "run": (recipe(), []),
        "finished": (recipe(), ready),
        "own": (own, ready),
        "classes": (classes, ready),
    }
    for name, (settings, files) in runs.items():
        (home / name).mkdir()
        (home / name / "recipe.toml").write_text(recipes.dumps(settings))
        for file in files:
            (home / name / file).touch()
    code = PROGRAM.replace("FRAMEWORKS", repr(FRAMEWORKS))
    given = json.dumps([[command, *words.split()] for command, words, _ in CASES])
    return dict(zip(CASES, json.loads(python("-c", code, cwd=home, given=given).stdout), strict=True))


@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join(case[:2]))
def test_it_is_told_at_once(outcomes, case):
    status, said, seconds, imported = outcomes[case]
    assert (status, imported) == (2, []), said
    assert case[2] in said
    assert seconds < 5  # of the processor, whatever else the machine is doing; a framework takes longer
