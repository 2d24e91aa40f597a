"""What `seqzoo new` proposes: languages, sizes, columns, a scope and a context that follow from the examples."""

import pytest

from zoo import recipes
from zoo.recipes.proposal import dumps_with_comments, propose
from zoo.settings import table
from zoo.tasks import TASKS


@pytest.mark.parametrize(
    ("files", "languages"),
    [
        ({"a.de": "Hund\nKatze\nMaus\n", "a.en": "dog\ncat\nmouse\n"}, ("de", "en")),
        ({"p.csv": "english,french\ndog,chien\ncat,chat\nmouse,souris\n"}, ("en", "fr")),
        ({"p.tsv": "dog\t一只 大 狗。\ncat\t一只猫\nmouse\t老鼠\n"}, ("", "zh")),
        ({"p.tsv": "一匹の犬\tone dog\n猫です\tone cat\nねずみ\tmouse\n"}, ("ja", "und")),
        ({"p.tsv": "dog\t개가 있다\ncat\t고양이\nmouse\t쥐\n"}, ("", "ko")),
        ({"p.tsv": "dog\tdogs\ncat\tcats\nmouse\tmice\n"}, ("", "und")),
    ],
)
def test_a_translator_is_told_its_languages(files, languages, tmp_path):
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    settings, notes = propose("translate", [tmp_path / name for name in files], "mine")
    own = recipes.make(settings)
    assert own.languages == languages
    assert any("language of the targets" in note for note in notes) == (languages[1] == "und")
    assert any("sacrebleu[ko]" in note for note in notes) == (languages[1] == "ko")
    if languages[1] != "ko":  # its tokeniser is another package
        assert "bleu" in own.job.score(own, ["a b c d"], ["a b c d"])
    assert not recipes.make(propose("transduce", [tmp_path / name for name in files], "mine")[0]).data.target_language


def test_columns_behind_the_second_of_two_files_say_no_language(tmp_path):
    files = [tmp_path / "one.tsv", tmp_path / "two.tsv"]
    for file in files:
        file.write_text("".join(f"{n}\t{file.stem} {n}\t{n} {file.stem}\n" for n in range(40)))
    settings, _ = propose("translate", files, "mine", ["data.columns.source=2", "data.columns.target=3"])
    assert recipes.make(settings).languages == ("", "und")


def test_sizes_follow_from_the_data(tmp_path):
    """2,000 examples of 26 letters and phones set apart: 30 times each in batches of 32."""
    words = [chr(97 + a) + chr(97 + b) + chr(97 + c) for a in range(20) for b in range(10) for c in range(10)]
    path = tmp_path / "words.tsv"
    path.write_text("".join(f"{word}\t{' '.join(word.upper())}\n" for word in words))
    settings, notes = propose("transduce", [path], "g2p")
    own = recipes.make(settings)
    assert own.training.steps == 30 * 2000 // 32 // 10 * 10 and own.training.steps % own.training.validate_every == 0
    assert own.text.pieces == "char" and own.text.vocab_size == 20 + 8
    assert own.text.target.pieces == "word" and own.text.target.vocab_size == 20 + 8
    assert own.search.max_output_length >= 3 and "2,000 examples: train 1,600, valid 201, test 199" in notes
    assert "1,870 steps of 32 examples: each is seen about 37.4 times" in notes


@pytest.mark.parametrize(
    ("labels", "decimal"),
    [("0.0 2.5 5", True), ("0,5 1", True), ("0.0 1.0", False), ("1 2", False), ("1.5 v", False)],
)
def test_labels_that_are_decimals_are_better_rated(labels, decimal, tmp_path):
    rows = [(f"text {number} {label}", label) for label in labels.split() for number in range(20)]
    for task, rating, roles in (("classify", "rate", 1), ("compare", "rate_pairs", 2)):
        path = tmp_path / f"{task}.tsv"
        path.write_text("".join("\t".join([*[text] * roles, label]) + "\n" for text, label in rows))
        notes = [note for note in propose(task, [path], "mine")[1] if "seqzoo new" in note]
        assert len(notes) == decimal and all(f"`seqzoo new {rating}` learns" in note for note in notes)


def intents(*labels):
    return "".join(f"{label} {number},{label}\n" for label in labels for number in range(20))


@pytest.mark.parametrize(
    ("files", "scope"),
    [
        ({"all.csv": intents("pay", "call", "oos")}, {"threshold": True, "trained": True}),
        (
            {"train.csv": intents("pay", "call"), "valid.csv": intents("pay", "Out of scope")},
            {"threshold": True, "trained": False},
        ),
        (
            {"train.csv": intents("pay", "out-of-scope"), "valid.csv": intents("pay")},
            {"threshold": False, "trained": True},
        ),
        ({"train.csv": intents("pay", "call"), "test.csv": intents("pay", "oos")}, None),  # nothing to choose it on
        ({"all.csv": intents("pay", "call", "oosterbeek")}, None),
    ],
    ids=["everywhere", "validation", "training", "test", "no-such-label"],
)
def test_a_label_of_texts_out_of_scope_is_found(files, scope, tmp_path):
    for name, rows in files.items():
        (tmp_path / name).write_text("text,label\n" + rows)
    settings, notes = propose("classify", [tmp_path / name for name in files], "mine")
    own = recipes.make(settings).scope
    if scope is None:
        assert own.label == "" and "scope" not in settings
    else:
        assert own.label in ("oos", "Out of scope", "out-of-scope")
        assert {"threshold": own.threshold, "trained": own.trained} == scope
        assert f"{own.label!r} is the label of texts that are out of scope; see [scope]" in notes
    answers = {split: set(recipes.read(recipes.make(settings), split)[1]) for split in ("train", "valid")}
    assert all(answers.values())
    recipe = recipes.make(settings)
    if scope and scope["threshold"]:  # which the training would refuse if the validation had none
        assert own.label in answers["valid"]
    assert (recipe.scope.label in answers["train"]) == bool(scope and scope["trained"])


def test_columns_of_one_name_are_named_by_number(tmp_path):
    (tmp_path / "mine.csv").write_text("text,text,label\n" + "".join(f"a {n},b {n},{n % 2}\n" for n in range(9)))
    said = ["data.columns.first=1", "data.columns.second=2", "data.columns.header=true"]
    settings, _ = propose("compare", [tmp_path / "mine.csv"], "mine", said)
    assert settings["data"]["columns"] == {"first": 1, "second": 2, "header": True, "label": "label"}
    assert ("a 3", "b 3") in recipes.read(recipes.make(settings), "train")[0]


@pytest.mark.parametrize(("first", "header"), [("", False), ("Antwort,Satz\n", True)])
def test_numbered_columns_say_whether_there_is_a_header(tmp_path, first, header):
    """A file of another split that looks otherwise by chance is read as the file for training."""
    rows = [f"{('yes', 'no')[n % 2]},a text of some words {n}\n" for n in range(9)]
    for name in ("train", "test"):
        (tmp_path / f"{name}.csv").write_text(first + "maybe,Not sure\n" * (name == "test") + "".join(rows))
    files = [tmp_path / "train.csv", tmp_path / "test.csv"]
    settings, _ = propose("classify", files, "mine", ["data.columns.label=1", "data.columns.text=2"])
    assert settings["data"]["columns"] == {"label": 1, "text": 2, "header": header}
    assert recipes.read(recipes.make(settings), "test")[0][:2] == ["Not sure", "a text of some words 0"]


def test_a_proposal_keeps_the_modules_that_it_is_given(tmp_path):
    (tmp_path / "mine.csv").write_text("text,label\n" + "".join(f"a {n},{n % 2}\n" for n in range(9)))
    settings, notes = propose("classify", [tmp_path / "mine.csv"], "mine", ["imports=['json']"])
    (tmp_path / "mine.toml").write_text(dumps_with_comments(settings, notes))
    assert recipes.load(tmp_path / "mine.toml").imports == ("json",)


def test_a_context_is_not_longer_than_a_part_of_the_text(tmp_path):
    (tmp_path / "short.txt").write_text("".join(f"line {number}\n" for number in range(20)))
    settings, _ = propose("continue", [tmp_path / "short.txt"], "mine")
    own = recipes.make(settings)
    parts = [recipes.read(own, split)[0][0] for split in ("train", "valid", "test")]
    assert own.model.context == min(map(len, parts)) < 64


def test_a_context_is_counted_in_tokens(tmp_path):
    """Adjacent characters that the training has not are one token."""
    lines = [*(f"line {number}" for number in range(20)), "ключ один", "ключ два", "ключ три"]
    (tmp_path / "short.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    own = recipes.make(propose("continue", [tmp_path / "short.txt"], "mine")[0])
    tokenizers = own.job.tokenizers(own, *recipes.read(own, "train"))
    counts = []
    for split in ("train", "valid", "test"):
        examples = recipes.read(own, split)
        assert (
            own.job.batches(own, tokenizers, (), examples).steps_per_epoch >= 1
        )  # it is refused where it is too short
        counts.append(len(tokenizers[0].encode(examples[0])[0]))
    assert own.model.context == min(counts)


NUMBERS = [f"{number} Hunde laufen im Schnee.\t{number} dogs run in the snow." for number in range(60)]
NAMES = [f"Call word{7919 * n % 9973} and word{6841 * n % 9973}.\tYes {n}." for n in range(400)]
CHINESE = [f"{chr(0x4E00 + n) * 3}在雪地里跑得很快的狗有{n}只\tDog {n}." for n in range(120)]
KOREAN = [f"{chr(0xAC00 + 91 * n)}각하였습니다\tk a k h a j s s m n i t a" for n in range(60)]


@pytest.mark.parametrize(
    ("task", "lines", "few"),
    [("translate", NUMBERS, 5_000), ("translate", NAMES, 50), ("translate", CHINESE, 50), ("transduce", KOREAN, 5_000)],
)
def test_what_is_trained_on_is_as_long_as_its_tokens(task, lines, few, tmp_path, monkeypatch):
    """Subwords of a small vocabulary, letters without spaces, and syllables that are taken apart are many."""
    monkeypatch.setattr("zoo.tasks.translate.FEW", few)
    (tmp_path / "mine.tsv").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    own = recipes.make(propose(task, [tmp_path / "mine.tsv"], "mine")[0])
    examples = recipes.read(own, "train")
    tokenizers = own.job.tokenizers(own, *examples)
    assert own.job.batches(own, tokenizers, (), examples, training=True).dropped <= len(lines) // 100


def test_every_task_says_what_to_begin_with():
    """The settings of `starter` are settings, whatever the examples."""
    for task in [each for each in TASKS.values() if not each.init_needed]:
        assert {"text", "model", "training"} & task.starter(Few(task)).keys()
        assert table.by_tag(tuple(each.model for each in task.models.values())).keys() == task.models.keys()


class Few:
    """Examples that are hardly any."""

    inputs, answers = ["a b"], ["b a"]

    def __init__(self, task=None):
        if task and task.kind in ("rated", "scored"):
            self.answers = ["1.5"]

    def __len__(self):
        return 1


@pytest.mark.parametrize(("new", "kind", "embedding"), [(2, "recurrent", "spelled"), (1, "transformer", None)])
def test_a_tagger_reads_the_spelling_where_new_words_will_come(new, kind, embedding, tmp_path):
    """Of 150 words `new` are there once: a hundredth of new texts is unknown with 2 of them, and less with 1."""
    once = [f"w{number}" for number in range(new)]
    words = once + ["the", "cat"] * ((150 - new) // 2) + ["the"] * (new % 2)
    lines = [f"{word}\t{'N' if number % 2 else 'D'}\n" + "\n" * (number % 5 == 4) for number, word in enumerate(words)]
    (tmp_path / "tags.conll").write_text("".join(lines))
    settings, notes = propose("tag", [tmp_path / "tags.conll"], "mine")
    assert settings["model"]["kind"] == kind and settings.get("embedding", {}).get("layer") == embedding
    assert any(f"{100 * new / 150:.1f} % of the words of the training are there once" in note for note in notes)
    recipes.make(settings)
    rates = {"recurrent": 4e-3, "transformer": 1.5e-3}  # one that was chosen for the one kind is not kept for the other
    for chosen, rate in rates.items():
        settings, _ = propose("tag", [tmp_path / "tags.conll"], "mine", [f"model.kind={chosen}"])
        assert (settings["model"]["kind"], settings["training"]["learning_rate"]) == (chosen, rate)
        recipes.make(settings)


def test_a_rate_that_a_task_has_for_one_kind_of_model_is_not_kept_for_another(tmp_path):
    (tmp_path / "stars.tsv").write_text("".join(f"text {number}\t{number % 5}.5\n" for number in range(40)))
    for given, rate in (((), 1.5e-3), (["model.kind=recurrent"], None)):
        settings, _ = propose("rate", [tmp_path / "stars.tsv"], "mine", given)
        assert settings["training"].get("learning_rate") == rate


def test_the_attention_of_few_strings_is_additive(tmp_path, monkeypatch):
    file = tmp_path / "words.tsv"
    file.write_text("".join(f"word {number}\t{number} drow\n" for number in range(40)))

    def proposed():
        settings, notes = propose("transduce", [file], "mine")
        dropout, attention = settings["model"]["dropout"], settings["attention"]["layer"]
        return attention, dropout, "are few: additive" in " ".join(notes)

    assert proposed() == ("additive", 0.2, True)
    monkeypatch.setattr("zoo.tasks.transduce.FEW", 39)
    assert proposed() == ("dot", 0.3, False)


def test_few_texts_are_classified_by_an_lstm_and_many_by_a_transformer(tmp_path, monkeypatch):
    file = tmp_path / "labels.tsv"
    file.write_text("".join(f"text {number}\t{'ab'[number % 2]}\n" for number in range(40)))

    def proposed(*given):
        settings, notes = propose("classify", [file], "mine", given)
        recipes.make(settings)
        return (
            settings["model"]["kind"],
            settings["training"]["learning_rate"],
            "are few: a recurrent" in " ".join(notes),
        )

    assert proposed() == ("recurrent", 4e-3, True)
    monkeypatch.setattr("zoo.tasks.classify.FEW", 39)
    assert proposed() == ("transformer", 1.5e-3, False)
    for kind, rate in {"recurrent": 4e-3, "transformer": 1.5e-3}.items():
        assert proposed(f"model.kind={kind}")[:2] == (kind, rate)
