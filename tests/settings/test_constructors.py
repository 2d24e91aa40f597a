"""Tables of settings say a second time what layers, losses and searches take: the same names, defaults and bounds.

They may not import these, because a recipe is read without a framework.
"""

import dataclasses
import inspect

import msgspec
import pytest

from zoo.decoding import beam_search
from zoo.depth.stack import BLOCKS
from zoo.models import Seq2Seq
from zoo.settings import declared, models, occupants, table, text, training as settings
from zoo.settings.slots import SLOTS
from zoo.settings.table import choices
from zoo.tasks import TASKS
from zoo.text import SubwordNoise, Tokenizer
from zoo.training import ChunkedCrossEntropy, DepthAdaptiveLoss, SmoothedCrossEntropy, TrainingPlan, schedule


def defaults(maker):
    return {name: each.default for name, each in inspect.signature(maker).parameters.items()}


def options(owner, name):
    return set(choices(table.fields(owner)[name].type))


LAYERS = [each for slot in SLOTS for each in occupants.own_tables(slot)]


@pytest.mark.parametrize("each", [each for each in LAYERS if each.source], ids=lambda each: each.__name__)
def test_what_is_read_of_a_class_is_what_python_knows_of_it(each):
    """Defaults, arguments and traits of the text of a file, against those of the class that Keras makes of it."""
    said, made = declared.read_layer(each.source), each.maker()
    parameters = inspect.signature(made).parameters.values()
    known = {one.name: one.default for one in parameters if one.kind != one.VAR_KEYWORD}
    read = {name: default for name, (default, _) in said.arguments.items()}
    assert read == {name: msgspec.NODEFAULT if one is inspect._empty else one for name, one in known.items()}
    assert {*each.takes, *each.parts, *each.passed} - {"context"} <= {*known}
    cls = made if inspect.isclass(made) else made.__annotations__["return"]
    traits = inspect.getattr_static(cls, "traits", None)
    if traits is not None and not isinstance(traits, property):
        assert vars(traits).items() >= said.traits.items() and said.traits


@pytest.mark.parametrize("each", LAYERS, ids=lambda each: each.__name__)
def test_a_setting_that_replaces_one_of_the_model_is_there(each):
    known = table.fields(each)
    assert all(mine in known and of in each.takes for mine, of in each.instead.items())
    assert all(table.default(each, mine) is None for mine in each.instead)
    model = table.fields(models.Transformer)
    assert all(gone in SLOTS or gone in model for gone in each.replaces)


def test_the_attentions_of_a_recurrent_model_are_those_of_seq2seq():
    named = {name for each in TASKS.values() for name in table.by_tag(_attentions(each))}
    for name in named - {"none"}:
        model = Seq2Seq(9, 9, units=4, attention=name)
        assert type(model.decoder.attention).__name__.lower().startswith(name)


def _attentions(task):
    return task.models["recurrent"].slots.get("attention", ()) if "recurrent" in task.models else ()


def test_the_words_of_a_choice_are_those_that_are_known():
    assert set(table.by_tag(occupants.own_tables("block"))) == set(BLOCKS)
    for name in options(settings.Training, "schedule"):
        assert float(schedule(name, 0.5, 3, 9)(2)) == pytest.approx(0.5), "the peak is at the end of the warm-up"


def test_losses_and_searches_have_the_defaults_of_the_tables():
    usual = defaults(DepthAdaptiveLoss)
    own = [name for name in table.fields(settings.DepthLoss) if name != "label_smoothing"]
    assert {name: table.default(settings.DepthLoss, name) for name in own} == {name: usual[name] for name in own}
    for loss, of in ((settings.TokenLoss, ChunkedCrossEntropy), (settings.LabelLoss, SmoothedCrossEntropy)):
        assert table.default(loss, "label_smoothing") == defaults(of)["smoothing"] == usual["smoothing"]
    assert table.default(settings.Search, "beam") == defaults(beam_search)["beams"]
    assert table.default(settings.Search, "alpha") == defaults(beam_search)["alpha"]


def test_a_plan_is_made_of_the_settings_of_a_training():
    known = table.fields(settings.Training)
    for field in dataclasses.fields(TrainingPlan):
        if field.name == "extra_files":  # follows from the task: the files of its run
            continue
        name = {"keep": "average"}.get(field.name, field.name)
        assert name in known
        if field.default is not dataclasses.MISSING:
            assert table.default(settings.Training, name) == field.default


def test_vocabularies_and_noise_have_the_defaults_of_the_tokenizer():
    usual = defaults(Tokenizer.train)
    names = {"pieces": "model_type"}
    for name in ("pieces", "normalization", "character_coverage", "byte_fallback"):
        assert table.default(text.Vocabulary, name) == usual[names.get(name, name)]
    assert table.default(text.Noise, "alpha") == defaults(SubwordNoise)["alpha"]
    assert table.default(text.Noise, "dropout") == defaults(SubwordNoise)["dropout"]


def test_what_shares_a_name_is_the_same_setting():
    """A vocabulary's settings have one kind and one default wherever they stand."""
    for each in (text.Verbatim, text.Target):
        for name, field in table.fields(each).items():
            assert field.type == table.fields(text.Vocabulary)[name].type
            assert table.default(each, name) == table.default(text.Vocabulary, name)
    assert set(table.fields(text.Labelled)) - set(table.fields(text.Read)) == {"noise"}
    assert table.fields(text.Read)["max_input_length"].type == table.fields(text.Labelled)["max_input_length"].type


@pytest.mark.parametrize("each", LAYERS, ids=lambda each: each.__name__)
def test_a_table_can_be_written_as_json(each):
    assert msgspec.json.decode(msgspec.json.encode(each()), type=each) == each()
