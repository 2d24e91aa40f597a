"""docs/models.md, its figures and the README's table are what docs/models.py writes; every number is the index's."""

import copy
import importlib.util
import re
import shlex
import tomllib

import pytest
from PIL import Image

from tests.house_rules import ROOT
from tests.hub import tiny
from tests.pages.many_models import entries as many
from tools import cli

SPEC = importlib.util.spec_from_file_location("models_page", ROOT / "docs" / "models.py")
MODELS = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(MODELS)
BEGIN = "<!-- python docs/models.py writes what follows -->\n"
END = "<!-- the end of what python docs/models.py writes -->\n"
SHOWN = f"# Mine\n\nBefore.\n\n{BEGIN}what was\n{END}\nAfter.\n"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """(the folder that was written, the entries that are shown)."""
    home = tmp_path_factory.mktemp("models")
    tiny.write_index(home / "hub", *many())
    (home / "README.md").write_text(SHOWN, encoding="utf-8")
    old = home / MODELS.FIGURES / "of-a-model-that-was-withdrawn-size.png"
    old.parent.mkdir(parents=True)
    old.write_bytes(b"")
    assert MODELS.main(["--hub", str(home / "hub"), "--root", str(home)]) == 0
    assert not old.exists()
    newest = {each["name"]: each for each in many() if each["withdrawn"] is None}
    return home, newest


def rows(text):
    """The cells of each row of the tables that has a model; a name is without its marks."""
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        names = [cell.strip("`") for cell in cells if re.fullmatch(r"`[a-z0-9-]+`", cell)]
        if names:
            yield names[0], cells


def test_every_model_stands_once_with_the_numbers_of_the_index(written):
    home, newest = written
    found = list(rows((home / MODELS.PAGE).read_text(encoding="utf-8")))
    assert sorted(name for name, _ in found) == sorted(newest) and len(found) == 29
    for name, cells in found:
        entry = newest[name]
        _, _, _, _, parameters, size, speed, score, test, licence = cells
        assert int(parameters.replace(",", "")) == entry["parameters"]
        graph = "model.int8.onnx" if entry["int8"] else "model.onnx"
        needed = sum(entry["bytes"][file] for file in ("manifest.json", "source.spm", graph))
        assert float(size) == pytest.approx(needed / 1e6, rel=5e-3)
        if entry["speed"] is None:
            assert speed == ""
        else:
            assert float(speed.partition(" ")[0]) == pytest.approx(entry["speed"]["milliseconds"], rel=5e-3)
        numbers = [float(each) for each in re.findall(r"\d+\.\d+", score)]
        scores = entry["scores"]
        sizes = {"count", "per", "characters"}
        stated = next((key for key in scores if f"{key}_interval" in scores), None)
        main = stated or next(iter(scores.keys() - sizes), None)
        wanted = [] if main is None else [scores[main], *scores.get(f"{main}_interval", [])]
        assert numbers == pytest.approx(wanted, abs=6e-3), name
        assert licence == "Apache-2.0" and (not scores or test.endswith((", 450", ", 450 characters")))


def test_the_best_of_each_test_stands_first(written):
    home, newest = written
    names = [name for name, _ in rows((home / MODELS.PAGE).read_text(encoding="utf-8"))]
    for base, key, sign in (("translate-en-zh", "bleu", -1), ("pronounce-hu", "wer", 1)):
        own = [name for name in names if name.startswith(base)]
        assert own == sorted(own, key=lambda name: sign * newest[name]["scores"][key])
        assert names.index(own[-1]) - names.index(own[0]) == len(own) - 1


def test_figures_compare_what_can_be_compared(written):
    home, newest = written
    figures = sorted(path.name for path in (home / MODELS.FIGURES).iterdir())
    bases = ("pronounce-hu", "shakespeare", "translate-en-zh")
    assert figures == [f"{base}-{measure}.png" for base in bases for measure in ("size", "speed")]
    text = (home / MODELS.PAGE).read_text(encoding="utf-8")
    linked = re.findall(r"!\[[^]]*\]\(([^)]*)\)", text)
    assert sorted(linked) == [f"zoo/figures/models/{name}" for name in figures]
    assert all((home / "docs" / each).stat().st_size < 60_000 for each in linked)
    size, speed = MODELS.plots(list(newest.values()))["pronounce-hu-simple-rnn"]
    assert len(size.points) == 8 and {each.name for each in size.points} >= {"pronounce-hu", "gru-none"}
    assert {each.name for each in size.points} - {each.name for each in speed.points} == {"pre-norm", "macaron"}
    assert "not at all: `pronounce-hu-pre-norm`, `pronounce-hu-macaron`." in text


def test_writing_again_changes_nothing(written):
    home, _ = written
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    assert MODELS.main(["--hub", str(home / "hub"), "--root", str(home)]) == 0
    assert before == {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}


def test_the_readme_has_the_best_of_each_data(written):
    home, newest = written
    text = (home / "README.md").read_text(encoding="utf-8")
    assert text.startswith("# Mine\n\nBefore.\n\n") and text.endswith("\nAfter.\n") and "what was" not in text
    found = dict(rows(text))
    best = {"pronounce-hu": ("wer", 1), "translate-en-zh": ("bleu", -1), "shakespeare": ("nats_per_character", 1)}
    for base, (key, sign) in best.items():
        own = [each for name, each in newest.items() if name.startswith(base) and key in each["scores"]]
        assert min(own, key=lambda each: sign * each["scores"][key])["name"] in found
    assert len(found) == 7 and found["dates"][1] == "5 languages"
    assert next(cells for name, cells in found.items() if name.startswith("pronounce-hu"))[1] == "hu; others: hy, ko"
    assert found["dates"][-1] == '`seqzoo run dates "3. März 2021"`'


def test_every_command_is_right_use():
    for entry in many():
        given = cli.parse(shlex.split(MODELS.command(entry))[1:])
        assert entry["name"] in vars(given).values() and given.texts == [MODELS.text_of(entry)]


def test_where_names_have_nothing_in_common():
    own = [copy.deepcopy(many()[1]) | {"name": name} for name in ("one", "two", "three")]
    (drawn,) = MODELS.plots(own).values()
    assert [plot.name for plot in drawn] == ["one-size.png", "one-speed.png"]
    assert {each.name for each in drawn[0].points} == {"one", "two", "three"}


def test_what_is_missing_is_told(tmp_path, capsys):
    (tmp_path / "README.md").write_text("# Mine\n", encoding="utf-8")
    given = ["--hub", str(tmp_path / "hub"), "--root", str(tmp_path)]
    assert MODELS.main(given) == 2 and "there is no index of models at" in capsys.readouterr().err
    tiny.write_index(tmp_path / "hub", *many())
    assert MODELS.main(given) == 2 and "README.md has no place for the table" in capsys.readouterr().err
    (tmp_path / "hub" / "index.json").write_text("{}", encoding="utf-8")
    assert MODELS.main(given) == 1 and "index" in capsys.readouterr().err
    assert not (tmp_path / "docs").exists()


def test_the_page_is_up_to_date():
    entries = MODELS.read(ROOT / "hub")
    mend = "run: python docs/models.py"
    assert (ROOT / MODELS.PAGE).read_text(encoding="utf-8") == MODELS.page(entries), mend
    readme = (ROOT / MODELS.README).read_text(encoding="utf-8")
    assert readme == MODELS.with_table(readme, entries), mend
    drawn = {plot.name: plot.digest for each in MODELS.plots(entries).values() for plot in each}
    assert drawn == {path.name: digest(path) for path in (ROOT / MODELS.FIGURES).glob("*.png")}, mend


def digest(path):
    """What a figure says that it shows; its bytes are another version of matplotlib's, but not other models'."""
    with Image.open(path) as image:
        return image.text["Description"]


def test_the_hub_has_the_models_whose_training_it_tells():
    """`benchmarks/hub_models.py --anew` exports each of them again."""
    told = tomllib.loads((ROOT / "hub" / "models.toml").read_text(encoding="utf-8"))["models"]
    assert told.keys() == {entry["name"] for entry in MODELS.read(ROOT / "hub")}
