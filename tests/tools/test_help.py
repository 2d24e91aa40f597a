"""The help of every command: its examples are right use, and nothing in it lacks a word of explanation."""

import argparse
import shlex

import pytest

from tools import cli, hub
from tools.cli import EXAMPLES

NAMES = [name for name in cli.COMMANDS if name != "hub"] + [f"hub {verb}" for verb in hub.VERBS]
LINES = [line for lines in EXAMPLES.values() for line in lines]


@pytest.mark.parametrize("line", LINES)
def test_examples_are_right_use(line):
    """Their settings and names, too: recipes and models that an example names are there."""
    words = shlex.split(line)
    words = words[words.index("seqzoo") + 1 :]
    args = cli.parse(words)
    assert args.main.__module__.split(".")[-1] == cli.MODULES.get(words[0], words[0])
    assert words[0] != "hub" or args.main is hub.VERBS[words[1]].main


def test_models_and_recipes_of_examples_are_there(monkeypatch):
    from zoo import hub as models, recipes

    monkeypatch.delenv("SEQZOO_HUB", raising=False)
    words = {word for line in LINES for word in line.split()}
    assert {"dates", "pronounce-hu-gru-none", "pronounce-hu-lstm", "trec-star"} <= words
    for name in ("dates", "pronounce-hu-gru-none", "pronounce-hu-lstm"):
        assert models.find(name, offline=True).entry["name"] == name
    assert {"trec-star", "multi30k-de-en-gru-additive"} <= set(recipes.list_recipes())


@pytest.mark.parametrize("name", NAMES)
def test_every_argument_is_explained(name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    made = []
    monkeypatch.setattr(
        argparse.ArgumentParser, "parse_intermixed_args", lambda self, words: made.append(self) or argparse.Namespace()
    )
    cli.parse(name.split())
    assert [action.dest for action in made[0]._actions if not action.help] == []
    text = made[0].format_help()
    assert "examples:" in text or name == "hub sign"
    assert all(f"  {line}\n" in f"{text}\n" for line in EXAMPLES.get(name, ()))


@pytest.mark.parametrize("words", [[], ["hub"]])
def test_without_a_command_the_help_is_shown(words, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(words)
    said = capsys.readouterr().err
    verbs = hub.VERBS if words else cli.COMMANDS
    assert stop.value.code == 2 and all(f"    {verb} " in said for verb in verbs)
    assert words or "SEQZOO_HUB" in said
