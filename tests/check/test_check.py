"""`python -m zoo.check`: what it finds in layers with a fault, what it says, and how it ends.

Eighteen wrong layers are found, each by the law that is there for it, and six right ones pass.
"""

import json
import re

import keras
import numpy as np
import pytest

from tests.check.right import RIGHT, Attending, NormBehind, Watching
from tests.check.wrong import LAW
from tests.house_rules import ROOT
from tests.registered import registered
from tests.shared import python
from zoo.attention import LocalAttention, LSHAttention, MultiHeadAttention
from zoo.blocks import PreNorm
from zoo.check import report, uses
from zoo.check.__main__ import main
from zoo.check.laws import build
from zoo.check.onnx import check_onnx
from zoo.check.report import BROKEN, HOLDS, NOT_APPLICABLE, finding
from zoo.check.slots import Subject, cases
from zoo.depth import Stack
from zoo.embeddings import LearnedPositions, TokenEmbedding
from zoo.feedforward import FeedForward, ProductKeyMemory


@pytest.fixture(scope="module", autouse=True)
def faulty():
    """The module of layers with one fault each."""
    with registered("tests.check.faulty") as module:
        yield module


def attention(cls, **settings):
    return Subject(cls, "attention", settings)


def test_a_look_ahead_is_found(faulty):
    # Position 0 looks ahead, too, but at one key alone: nothing comes of it by the formula, and there is only rounding.
    found = finding("causal", "", lambda: uses.check_causal(attention(faulty.Peeping)))
    assert found.result == BROKEN and "position 1 sees later ones: a gradient of" in found.detail
    assert finding("causal", "", lambda: uses.check_causal(attention(MultiHeadAttention))).result == HOLDS


def test_steps_that_differ_are_found_with_the_number(faulty):
    found = finding("generation", "", lambda: uses.check_generation(attention(faulty.Forgetful)))
    assert found.result == BROKEN and found.number > 1e-4 and str(found.number)[:4] in found.detail


@pytest.mark.parametrize(("name", "slot"), [("Trailing", "positions"), ("Mixing", "feedforward")])
def test_steps_are_compared_for_every_slot_of_a_model_that_writes(faulty, name, slot):
    subject = Subject(vars(faulty)[name], slot, {})
    for check in (uses.check_generation, uses.check_memory_steps):
        found = finding("", "", lambda check=check: check(subject))
        assert found.result == BROKEN and found.number > 1e-3


@pytest.mark.slow
def test_what_may_stand_in_a_model_that_writes_steps_as_it_reads():
    sound = [
        Subject(NormBehind, "positions", {}),
        Subject(LearnedPositions, "positions", {"max_positions": 8}),
        Subject(ProductKeyMemory, "feedforward", {"num_keys": 4, "k": 2, "query_dim": 4}),
        Subject(PreNorm, "block", {}),
        Subject(Stack, "depth", {}),
    ]
    for subject in sound:
        uses.check_generation(subject)
        uses.check_memory_steps(subject)
    found = finding("", "", lambda: uses.check_generation(Subject(TokenEmbedding, "embedding", {})))
    assert found.result == NOT_APPLICABLE and "has an embedding of its own" in found.detail


def test_padding_that_matters_is_found(faulty):
    found = asked("padding", attention(faulty.Leaking))
    assert found.result == BROKEN and found.number > 1e-3 and found.detail.startswith("in both directions:")


def test_hidden_arguments_are_found(faulty):
    found = finding("arguments", "", lambda: uses.check_arguments(attention(faulty.Leaking)))
    assert (found.result, found.detail) == (BROKEN, "the layer has no attribute 'width'")


def test_a_hidden_name_of_keras_is_found(faulty):
    found = finding("names", "", lambda: uses.check_names(Subject(faulty.Hiding, "feedforward", {})))
    assert (found.result, found.detail) == (BROKEN, "Keras' own are hidden by Hiding.path: give them other names")


def test_what_is_not_declared_is_not_asked(faulty):
    for check in (uses.check_generation, uses.check_causal, uses.check_memory_steps):
        found = finding("", "", lambda check=check: check(attention(faulty.Leaking)))
        assert found.result == NOT_APPLICABLE and "its traits do not say" in found.detail
    found = finding("", "", lambda: uses.check_generation(attention(LSHAttention, num_buckets=4, chunk_length=4)))
    assert found.detail == "its traits say that a pass approximates the steps"


@pytest.mark.slow
def test_an_operation_without_an_onnx_form_is_named_with_its_place(faulty):
    subject = attention(faulty.Unwritable)
    found = finding("onnx", "", lambda: check_onnx([build(case) for case in cases(subject)]))
    assert found.result == BROKEN and "Expm1" in found.detail
    assert f"{faulty.__file__}:" in found.detail and "ops.expm1(query)" in found.detail


@pytest.mark.release(but=("FeedForward", "ProductKeyMemory", "LearnedPositions", "TokenEmbedding"))
@pytest.mark.parametrize(
    ("cls", "slot", "settings"),
    [
        (MultiHeadAttention, "attention", {}),
        (FeedForward, "feedforward", {}),
        (ProductKeyMemory, "feedforward", {"num_keys": 4, "k": 2, "query_dim": 4}),
        (PreNorm, "block", {}),
        (Stack, "depth", {}),
        (LearnedPositions, "positions", {"max_positions": 16}),
        (TokenEmbedding, "embedding", {}),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_every_slot_has_cases_that_the_zoo_stands(cls, slot, settings):
    subject = Subject(cls, slot, settings)
    assert cases(subject)
    for case in cases(subject):
        built = build(case)
        report.BATTERY["config"](built)
        report.BATTERY["padding"](built)
    uses.check_arguments(subject)
    uses.check_protocol(subject)
    assert all(each.allowed for each in report._uses(subject, HOLDING) if not each.reason)


HOLDING = {
    name: report.Finding(name, "", HOLDS)
    for name in "causal generation memory reversible xla jax bfloat16 quantized onnx".split()
}


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["Mine"], "expected MODULE.CLASS"),
        (["zoo_absent.Mine"], "The module 'zoo_absent' was not found"),
        (["tests.check.faulty.Absent"], "has no class 'Absent'"),
        (["tests.check.faulty.Nowhere"], "stands in no slot. Expected a class under @zoo.register"),
        (["tests.check.faulty.Leaking", "--set", "width"], "--set needs NAME=VALUE"),
        (
            ["tests.check.faulty.Leaking", "--set", "depth=3"],
            r"has no settings \['depth'\] of its own. Expected some of",
        ),
    ],
)
def test_wrong_use_is_told(argv, message, capsys):
    with pytest.raises(SystemExit) as stop:
        main(argv)
    assert stop.value.code == 2
    assert re.search(message, capsys.readouterr().err)


@pytest.mark.release
def test_a_sound_layer_of_somebody_else():
    words = ["linear_attention.LinearAttention", "--set", "epsilon=1e-5", "--json"]
    done = python("-m", "zoo.check", *words, cwd=ROOT / "tests" / "own_layers" / "linear-attention")
    found = json.loads(done.stdout)
    assert found["holds"] and {each["result"] for each in found["laws"]} == {HOLDS}, done.stdout
    assert all(each["allowed"] for each in found["uses"]) and len(found["uses"]) == 11


def test_a_list_that_is_kept_as_a_tuple_is_kept():
    """TOML has lists, and so has what `--set` gives."""
    uses.check_arguments(attention(LocalAttention, looks=[2, 1]))


@pytest.mark.parametrize("cls", [Attending, Watching])
def test_a_layer_may_be_derived_from_one_with_a_weight_that_nothing_depends_on(cls):
    """As the bias of the keys, unless the derived layer makes something of it."""
    assert asked("gradients", attention(cls)).result == HOLDS


@pytest.mark.slow
def test_a_faulty_layer(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    keras.utils.set_random_seed(1)
    assert main(["tests.check.faulty.Leaking"]) == 1
    said = capsys.readouterr().out
    lines = {line.split()[0]: line for line in said.splitlines() if line and not line.startswith(" ")}
    assert "does not hold" in lines["padding"] and "largest difference is" in lines["padding"]
    assert "not applicable" in lines["generation"] and "holds" in lines["graph"]
    allowed, _, refused = said.partition("May not be used for:")
    assert "writing step by step" in refused and "its traits do not say causal=True" in refused
    assert "training on JAX" in allowed
    assert np.isfinite(float(lines["padding"].rsplit(" ", 1)[1]))


OF_THE_SUBJECT = {
    "settings": uses.check_settings,
    "generation": uses.check_generation,
    "memory": uses.check_memory_steps,
    "long": lambda subject: uses.check_long(subject, made(subject)),
}
NEW = ("static", "training", "differences", "implicit_masks")


def made(subject):
    keras.utils.set_random_seed(1)
    return [build(case) for case in cases(subject)]


def asked(law, subject):
    """One law; of the battery in every way in which the layer is called."""
    if law in OF_THE_SUBJECT:
        return finding(law, "", lambda: OF_THE_SUBJECT[law](subject))
    return finding(law, "", lambda: [report._of_case(report.BATTERY[law], each) for each in made(subject)])


@pytest.mark.parametrize("cls", LAW, ids=lambda cls: cls.__name__)
def test_it_is_found(cls):
    slot, law = LAW[cls]
    found = asked(law, Subject(cls, slot, {}))
    assert found.result == BROKEN and "Error" not in found.detail.split(":")[0], found


@pytest.mark.release(but=2)
@pytest.mark.slow
@pytest.mark.parametrize("cls", RIGHT, ids=lambda cls: cls.__name__)
def test_a_right_layer_passes(cls):
    subject = Subject(cls, RIGHT[cls], {})
    broken = [each for each in (asked(law, subject) for law in (*OF_THE_SUBJECT, *NEW)) if each.result == BROKEN]
    assert not broken, broken


def test_there_are_enough_of_both():
    assert len(LAW) >= 16 and len(RIGHT) >= 6 and np.all([law for _, law in LAW.values()])
