"""What devices tell each other is read right from a compiled program, and is little for every system."""

import json
import sys

import pytest

from tests.house_rules import ROOT
from tests.shared import python

sys.path.append(str(ROOT / "docs"))

from reading_collectives import Collective, collectives  # noqa: E402

PROGRAM = """
HloModule jit_train, is_scheduled=true, entry_computation_layout={(f32[4,3]{1,0})->f32[4,3]{1,0}}

%sum (a: f32[], b: f32[]) -> f32[] {
  ROOT %add.1 = f32[] add(%a, %b)
}

%inner.2 (p: f32[4,3]) -> f32[8,3] {
  ROOT %all-gather.9 = f32[8,3]{1,0} all-gather(%p), channel_id=4, replica_groups={{0,1}}, dimensions={0}
}

%body (state: (s32[], f32[4,3])) -> (s32[], f32[4,3]) {
  %all-reduce.3 = f32[4,3]{1,0} all-reduce(%x), channel_id=2, replica_groups={{0,1}}, to_apply=%sum
  %call.1 = f32[8,3]{1,0} call(%all-reduce.3), to_apply=%inner.2
}

%condition (state: (s32[], f32[4,3])) -> pred[] {
  ROOT %less = pred[] compare(%i, %n), direction=LT
}

ENTRY %main.7_spmd (Arg_0.1: f32[4,3], Arg_1.2: bf16[2]) -> (f32[4,3], f32[]) {
  %all-reduce.1 = (f32[4,3]{1,0}, bf16[2]{0}, f32[]) all-reduce(%g, %h, %l), channel_id=1, to_apply=%sum
  %get = f32[4,3]{1,0} get-tuple-element(%all-reduce.1), index=0, metadata={op_name="all-reduce("}
  %while.1 = (s32[], f32[4,3]{1,0}) while(%get), condition=%condition, body=%body
  %state = f32[4,3]{1,0} get-tuple-element(%while.1), index=1
  %all-reduce.8 = f32[4,3]{1,0} all-reduce(%state), channel_id=3, to_apply=%sum
}
"""


def test_what_a_program_says():
    found = collectives(PROGRAM)
    assert found == [
        Collective("all-gather", (("f32", (8, 3)),), 1, repeated=True),
        Collective("all-reduce", (("f32", (4, 3)),), 1, repeated=True),
        Collective("all-reduce", (("f32", (4, 3)), ("bf16", (2,)), ("f32", ())), 1, repeated=False),
        Collective("all-reduce", (("f32", (4, 3)),), 4, repeated=False),
    ]
    assert [each.bytes for each in found] == [96, 48, 48 + 4 + 4, 48]


@pytest.mark.release
def test_two_devices_sum_the_gradients_and_gather_no_parameters():
    done = python("-m", "tests.training.two_devices", seconds=900, KERAS_BACKEND="jax")
    rows = {found["recipe"]: found for found in map(json.loads, done.stdout.splitlines())}
    recurrent, transformer, reformer, memory = rows.values()
    for found in rows.values():
        assert found["parameters"] == [] and found["others"] == [], found
    for found in (recurrent, transformer, reformer):
        assert found["gradients"] <= sum(found["sums"]) and found["gathers"] == found["looped"] == [], found
        assert found["rounds"] == len(found["sums"]) == 2, found  # the weights of the tokens, and the gradients
    # Of a table the rows that were read, their weights and what came back to them go around, and no gradient:
    # 2 texts of 16 tokens with 4 heads of 8 keys, and 32 units.
    assert sorted(memory["gathers"]) == [4 * 2 * 16 * 32, 4 * 2 * 16 * 4 * 8, 4 * 2 * 16 * 4 * 8], memory
    # The matrix of 140 characters has two gradients, as embedding and as output; those of the batch norm are few.
    assert sum(memory["sums"]) < memory["gradients"] - 4 * 8**2 * 32 + 4 * 140 * 32 + 1000, memory
