"""The typed tables refuse what could not be exported, and name their axes."""

import dataclasses

import pytest

from zoo.core.signatures import DTYPES, Signature, TensorSpec

IDS = TensorSpec("token_ids", "int32", ("batch", "time"))
FOUND = TensorSpec("output_ids", "int32", ("batch", "beams", 7))


def test_named_axes_are_dynamic():
    assert IDS.static_shape == (None, None)
    assert FOUND.static_shape == (None, None, 7)
    assert TensorSpec("one", "float32", ()).static_shape == ()


def test_fixing_an_axis_makes_it_static():
    signature = Signature("tokens", (IDS,), (FOUND,))
    fixed = signature.fix(beams=4)
    assert fixed.outputs[0].shape == ("batch", 4, 7)
    assert fixed.inputs == signature.inputs
    assert signature.outputs[0] is FOUND, "the original stays as it was"


def test_tables_are_values():
    assert IDS == TensorSpec("token_ids", "int32", ("batch", "time"))
    assert len({IDS, TensorSpec("token_ids", "int32", ("batch", "time"))}) == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        IDS.name = "other"


def test_tables_are_json():
    written = Signature("tokens", (IDS,), (FOUND,)).to_dict()
    assert written["inputs"][0]["shape"] == ["batch", "time"]
    assert written["outputs"] == [{"name": "output_ids", "dtype": "int32", "shape": ["batch", "beams", 7]}]


@pytest.mark.parametrize("dtype", ["float", "int16", "", None])
def test_unknown_dtypes_are_refused(dtype):
    with pytest.raises(ValueError, match=f"'x'.*{DTYPES[0]}.*{DTYPES[-1]}.*received {dtype!r}"):
        TensorSpec("x", dtype, ())


def test_a_name_is_used_once():
    with pytest.raises(ValueError, match="'echo' uses names twice: \\['token_ids'\\]"):
        Signature("echo", (IDS,), (IDS,))
