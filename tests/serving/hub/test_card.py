"""A card says what was measured, and its check finds every number that is not true."""

import gzip
import json
import shutil

import numpy as np
import pytest

from serving.export import runs as exported
from serving.hub.card import card, worst
from serving.hub.checking import PARTS, Published, check, write_table
from serving.hub.published import OUTPUTS, pack_outputs, unpack_outputs
from serving.runtime.artefact import MANIFEST
from tests.serving import fake_artefact
from tests.serving.hub import echo
from tests.shared import python
from tests.tasks import runs
from tools import cli
from tools.list import describe
from zoo.recipes import evaluations

QUICK = tuple(part for part in PARTS if part != "parity")  # the parity of what is made by hand does not hold


def rows_of(hub, parts=QUICK, **options):
    return check(hub / "echo" / "1", echo.entries(hub)[0], parts, **options)


@pytest.mark.slow
def test_the_card_says_everything(whole, monkeypatch, capsys):
    monkeypatch.setenv("SEQZOO_HUB", str(whole))
    assert cli.main(["hub", "card", "echo"]) == 0
    text = capsys.readouterr().out
    assert text == (whole / "echo" / "1" / "card.md").read_text(encoding="utf-8")
    entry = echo.entries(whole)[0]
    for said in (
        "# echo@1",
        f"| parameters | {entry['parameters']:,} |",
        "| cell | gru |",
        "Weights: Apache-2.0. Data: six lines, CC-BY-4.0.",
        "Attribution: The authors of the six lines.",
        "| exact match, % | 66.67 | ",
        "`seqzoo hub card echo@1 --check --only scores`",
        "differ by at most 1e-06",
        f"{entry['speed']['milliseconds']} ms for one text",
        entry["speed"]["processor"],
        f"| model.keras | {entry['bytes']['model.keras']:,} |",
        "1 hours of jax",
        "    - input: `bad cab`\n    - expected: `bad`\n    - answer: `bad cab`",
        "    - input: `123`\n    - expected: `124`\n    - answer: `123`",
        'seqzoo run echo "text"',
        'Runtime("echo")',
        'zoo.load("echo")',
    ):
        assert said in text
    assert "model.onnx" not in text.replace("model.int8.onnx", "") and "| card.md" not in text
    assert text.count("- input:") == 2  # the four right answers are no failures


def test_scores_of_other_examples_go_from_a_run_to_cards_and_lists(whole, tmp_path, capsys):
    found = {"count": 1000, "bleu": 16.213, "bleu_interval": [15.0, 17.5], "bleu_signature": "tok:13a"}
    evaluations.write_scores(tmp_path, {"bleu": 45.0, "by_length": []})
    for name, value in {"captions": 1.0, "news|2027": 2.0, "captions ": 3.0}.items():
        evaluations.write_scores(tmp_path, found | {"bleu": value}, name)
    evaluations.write_scores(tmp_path, found, "captions")
    evaluations.write_scores(tmp_path, {"bleu": 46.0})
    scores = exported._read_scores(tmp_path)
    assert scores["bleu"] == 46.0 and "by_length" not in scores
    assert scores["elsewhere"]["captions"] == {name: found[name] for name in ("count", "bleu", "bleu_interval")}
    entry, published = echo.entries(whole)[0], Published(whole / "echo" / "1", echo.entries(whole)[0])
    published.open()
    manifest = published.manifest | {"scores": published.manifest["scores"] | {"elsewhere": scores["elsewhere"]}}
    text = card(entry, manifest, published.answers, published.recipe)
    assert (
        "| captions | 1,000 | BLEU | 16.21 | 15.00 to 17.50 |" in text
        and "| news&#124;2027 | 1,000 | BLEU | 2.00" in text
    )
    lines = list(describe(entry | {"elsewhere": scores["elsewhere"]}, "here"))
    assert any(line.startswith("elsewhere") and "captions: bleu 16.213" in line for line in lines)


TAGS = (["a b c", "d e", "f g h"], ["B-X I-X O", "O O", "O O O"], ["B-X O O", "O O", "B-X B-X B-X"])
INTENTS = (["a", "b", "c", "d"], ["x", "oos", "y", "x"], ["x", "y", "oos", "x"])
TEXTS = (["a", "b", "c"], ["one two three four", "five", "six seven eight"], ["one two three for", "five", "nein"])


@pytest.mark.parametrize(
    ("task", "changes", "answers", "expected"),
    [
        ("tag", {}, TAGS, [(2, 0.0), (0, 200 / 3)]),  # an answer that is right is no failure, though it has no entity
        ("classify", {"scope": {"label": "oos", "threshold": False, "trained": True}}, INTENTS, [(1, 0.0), (2, 0.0)]),
        ("classify", {}, (["a"], ["x"], ["x"]), []),
    ],
)
def test_the_worst_answers_come_first(task, changes, answers, expected, tmp_path):
    found = worst(answers, runs.recipe(task, tmp_path, **changes))
    assert [(row, value) for row, value, _ in found] == [(row, pytest.approx(value)) for row, value in expected]


def test_the_worst_translations_are_those_farthest_from_what_is_right(tmp_path):
    found = worst(TEXTS, runs.recipe("translate", tmp_path))
    assert [row for row, _, _ in found] == [2, 0] and {name for _, _, name in found} == {"chrf"}


@pytest.mark.slow
def test_every_number_holds(whole, capsys):
    rows = rows_of(whole)
    assert all(row.equal for row in rows) and {row.part for row in rows} == set(QUICK) - {"data"}
    found = {row.what: row.measured for row in rows}
    assert found["exact_match"] == pytest.approx(echo.EXACT) and found["answers that are the same"] == 6
    assert write_table(rows).endswith(f"all {len(rows)} numbers hold")
    words = [word for part in QUICK[:-1] for word in ("--only", part)]
    assert cli.main(["hub", "card", "echo", "--check", "--json", "--hub", str(whole), *words]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["holds"] is True and len(said["checks"]) == len(rows) and said["speed"]["batch"] == 1


def test_the_test_set_is_that_of_the_corpus(whole, made, tmp_path):
    files = made[0].parent / "files"
    (row,) = rows_of(whole, ("data",), data=str(files / "test.tsv"))
    assert row.equal
    other = tmp_path / "other.tsv"
    other.write_text((files / "test.tsv").read_text().replace("124", "123"))
    (row,) = rows_of(whole, ("data",), data=str(other))
    assert row.equal is False


def reseal(hub, change_manifest=lambda manifest: None, change_entry=lambda entry: None):
    """Let manifest and index agree with files that were changed: whoever lies, lies everywhere."""
    home = hub / "echo" / "1"
    manifest = json.loads((home / MANIFEST).read_text(encoding="utf-8"))
    change_manifest(manifest)
    (home / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    fake_artefact.change(home)
    with echo.changing(hub) as index:
        (entry,) = index["models"]
        echo.measure(entry, home)
        change_entry(entry)


def better(hub):
    """The stored answers are the references, and the scores say so."""
    path = hub / "echo" / "1" / OUTPUTS
    inputs, references, _ = unpack_outputs(path.read_bytes())
    path.write_bytes(pack_outputs(inputs, references, references))
    reseal(hub)


def card_says(hub, old, new):
    path = hub / "echo" / "1" / "card.md"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    reseal(hub)


def scored(name, value):
    return lambda hub: reseal(hub, change_entry=lambda entry: entry["scores"].update({name: value}))


LIES = {  # what is published, and what the check then finds
    "a score": (scored("exact_match", 99.0), "scores", "exact_match"),
    "an interval": (scored("wer_interval", [0.0, 1.0]), "scores", "wer_interval"),
    "a score that nobody measured": (scored("bleu", 50.0), "scores", "bleu"),
    "answers": (better, "answers", "answers that are the same"),
    "parameters": (
        lambda hub: reseal(hub, change_entry=lambda entry: entry.update(parameters=9)),
        "parameters",
        "parameters",
    ),
    "the parity": (
        lambda hub: reseal(hub, change_entry=lambda entry: entry["parity"].update(max_abs_diff=1e-9)),
        "files",
        "parity in the manifest",
    ),
    "the version": (
        lambda hub: reseal(hub, lambda manifest: manifest.update(version=3)),
        "files",
        "name and version in the manifest",
    ),
    "the card's score": (lambda hub: card_says(hub, "66.67", "99.67"), "card", "lines of card.md that differ"),
    "the card's failures": (lambda hub: card_says(hub, "`bad`", "`bad cab`"), "card", "lines of card.md that differ"),
    "a file": (
        lambda hub: (hub / "echo" / "1" / "source.spm").write_bytes(b"other"),
        "files",
        "SHA-256 of source.spm",
    ),
    "a missing file": (lambda hub: (hub / "echo" / "1" / OUTPUTS).unlink(), "files", f"SHA-256 of {OUTPUTS}"),
}


@pytest.mark.slow(but=5)
@pytest.mark.parametrize("lie", LIES)
def test_what_is_not_true_is_found(lie, hub, capsys):
    publish, part, what = LIES[lie]
    publish(hub)
    wrong = [(row.part, row.what) for row in rows_of(hub) if row.equal is False]
    assert (part, what) in wrong
    assert cli.main(["hub", "card", "echo", "--check", "--only", part, "--hub", str(hub)]) == 1
    assert "NOT EQUAL" in capsys.readouterr().out


def test_what_was_changed_is_not_run(hub):
    """A graph that does not have its hash is never opened."""
    (hub / "echo" / "1" / "model.int8.onnx").write_bytes(b"other")
    assert {row.part for row in rows_of(hub)} == {"files"}


def test_a_withdrawn_card_says_so(hub, capsys):
    assert cli.main(["hub", "withdraw", "echo@1", "--reason", "Wrong.", "--hub", str(hub)]) == 0
    capsys.readouterr()
    assert cli.main(["hub", "card", "echo@1", "--hub", str(hub)]) == 0
    assert capsys.readouterr().out.startswith("**Withdrawn: Wrong.**\n\n# echo@1")
    assert all(row.equal for row in rows_of(hub, ("files", "card")))


def test_a_card_is_shown_where_only_models_are_run(hub, tmp_path):
    """So are wheels and withdrawals made: none of these needs what training needs."""
    without = "import sys; sys.modules |= dict.fromkeys(('keras', 'tensorflow', 'jax', 'sacrebleu', 'onnx'))"
    verbs = [
        ["card", "echo"],
        ["package", "echo", "--out", str(tmp_path)],
        ["withdraw", "echo@1", "--reason", "Wrong."],
    ]
    verbs = [["hub", *each, "--hub", str(hub)] for each in verbs]
    code = f"{without}; from tools.cli import main; print([main(each) for each in {verbs}])"
    assert python("-c", code).stdout.endswith("[0, 0, 0]\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["echo", "--only", "files"], "are about --check"),
        (["ecko"], "no model ecko. Did you mean echo?"),
        (["../echo"], "not the name of a model"),
    ],
)
def test_wrong_use_is_told(words, message, whole, capsys):
    assert cli.main(["hub", "card", *words, "--hub", str(whole)]) == 2
    assert message in capsys.readouterr().err


def test_two_published_models_are_compared_on_their_answers(hub, monkeypatch, capsys):
    """A second model says the right answer to one more question."""
    shutil.copytree(hub / "echo" / "1", hub / "echo" / "2")
    home = hub / "echo" / "2"
    inputs, references, outputs = unpack_outputs((home / OUTPUTS).read_bytes())
    (home / OUTPUTS).write_bytes(pack_outputs(inputs, references, [*outputs[:4], references[4], outputs[5]]))
    fake_artefact.change(home, version=2)
    with echo.changing(hub) as index:
        index["models"].append(index["models"][0] | {"version": 2})
        echo.measure(index["models"][1], home)
    monkeypatch.setenv("SEQZOO_HUB", str(hub))
    assert cli.main(["compare", "echo@1", "echo@2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["scores"]["exact_match"]["a"] == pytest.approx(echo.EXACT)
    assert found["scores"]["exact_match"]["b"] == pytest.approx(100 * 5 / 6)
    assert found["leading"] == "wer" and [row["input"] for row in found["differ"]] == ["bad cab"]
    assert found["split"] == "test" and 0 < found["scores"]["wer"]["p_value"] <= 1


def test_the_answers_are_compressed_well(whole):
    content = (whole / "echo" / "1" / OUTPUTS).read_bytes()
    assert len(content) < len(gzip.decompress(content))


def parity_of(monkeypatch, published, report):
    monkeypatch.setattr("serving.export.again.verify", lambda folder, log: report)
    monkeypatch.setattr("serving.hub.checking.Published._check_source", lambda self: None)
    folder, entry = published
    return Published(folder, entry).check_parity()


@pytest.mark.parametrize(
    ("same", "count", "holds"), [(36, 36, True), (35, 36, True), (34, 36, False), (297, 300, True)]
)
def test_of_int8_one_answer_in_a_hundred_may_be_another(hub, monkeypatch, same, count, holds):
    """As the page says, and how many are the same is told; of fewer than 100 it is one."""
    report = {"max_abs_diff": 0.0, "passed": True, "made_again": {"model.int8.onnx": (same, count)}}
    row = parity_of(monkeypatch, (hub / "echo" / "1", echo.entries(hub)[0]), report)[1]
    assert (row.stated, row.measured, row.equal) == (count, same, holds)
    assert row.what == "model.int8.onnx, made again: same answers"


def test_answers_of_int8_are_counted_by_rows():
    """A batch is as long as its longest answer: where one row is another, the others are still the same."""
    from serving.export.forms.onnx import is_near, rows_of

    one = [np.array([[1, 2, 0], [3, 0, 0]], "int32"), np.array([0.5, 2.0], "float32")]
    other = [np.array([[1, 2], [4, 0]], "int32"), np.array([0.505, 2.1], "float32")]
    near = [list(map(is_near, *rows)) for rows in zip(rows_of(one), rows_of(other), strict=True)]
    assert near == [[True, True], [False, False]]
    assert len(rows_of([np.zeros(()), np.zeros((2, 1))])) == len(rows_of([np.zeros((3,)), np.zeros((2,))])) == 1
