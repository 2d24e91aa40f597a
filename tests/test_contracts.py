"""Everything public goes through the contract battery."""

import inspect

import keras
import pytest

import zoo
from tests.all_cases import CASES, MODELS, VARIATIONS
from zoo.check import elsewhere, in_training, laws, of_keras
from zoo.core.arrival import ROOMS

LAWS = {**laws.LAWS, "implicit_masks": of_keras.check_implicit_masks, "quantized": of_keras.check_quantized}


def check_causal(built):
    """With `causal=True` no position sees a later one."""
    given = built.case.arguments(((41, 5), (42, 5)), 5, 0)
    own = next(name for name in ("query", "x") if name in given)
    laws.check_causal(lambda x: built.case.apply(built.layer, {**given, own: x}), given[own])


LAWS["causal"] = check_causal
OF_LAYERS = {
    "static": laws.check_static,
    "training": in_training.check_training,
    "differences": in_training.check_differences,
}
LAWS |= OF_LAYERS
CHEAP = ("padding",)
DEAR = ("differences", "quantized")  # two passes for each weight; a file in each precision


def cost(case, law):
    """Core cases go through all laws but two before anything lands, and the cheapest at once; the rest at a release."""
    if case.core and law not in DEAR:
        return () if law in CHEAP else (pytest.mark.slow,)
    if law in ("gradients", "implicit_masks", "causal", *CHEAP) and case.name not in VARIATIONS:
        return (pytest.mark.slow,)
    return (pytest.mark.release,)


def asked(case, law):
    """Models take ids and lengths, to which Keras attaches no mask; what is in no file elsewhere is in none here."""
    if law in OF_LAYERS and (case in MODELS or (law == "static" and "symbolic" in case.without)):
        return False
    if law == "causal":
        return case.apply.__name__ == "causally" and law not in case.without
    if law == "quantized" and "elsewhere" in case.without:
        return False
    return law not in case.without and not (law == "implicit_masks" and case in MODELS)


@pytest.fixture(scope="module")
def build():
    """Each case's layer is built once for the whole battery."""
    layers = {}

    def built(case):
        if case.name not in layers:
            keras.utils.set_random_seed(1)
            layers[case.name] = laws.build(case)
        return layers[case.name]

    return built


@pytest.mark.parametrize(
    ("case", "law"),
    [
        # What one worker has built for a law, it has for the others.
        pytest.param(
            case, law, id=f"{case.name}-{law}", marks=[pytest.mark.xdist_group(f"law-{case.name}"), *cost(case, law)]
        )
        for case in CASES
        for law in LAWS
        if asked(case, law)
    ],
)
def test_law(case, law, build):
    LAWS[law](build(case))


def process(backend, way, core, *marks):
    return pytest.param(backend, way, core, marks=[pytest.mark.xdist_group(f"{backend}-{way}-{core}"), *marks])


@pytest.mark.release(but="tensorflow-called-True")
@pytest.mark.parametrize(
    ("backend", "way", "core"),
    [
        process("jax", "compiled", True, pytest.mark.slow),
        process("tensorflow", "called", True, pytest.mark.slow),
        process("tensorflow", "called", False, pytest.mark.slow, pytest.mark.release),
        process("jax", "called", True, pytest.mark.slow, pytest.mark.release),
        process("jax", "compiled", False, pytest.mark.slow),
    ],
)
def test_loads_elsewhere(backend, way, core, build, tmp_path, subtests):
    """In a fresh process of either backend, which imported zoo: one process for all cases."""
    cases = [case for case in CASES if case.core is core and "elsewhere" not in case.without]
    masked = [case for case in cases if asked(case, "implicit_masks") and of_keras.mask_names(build(case).layer)]
    masked = masked if backend == "jax" else []  # here they are checked by the law itself
    for case in cases:
        elsewhere.pack(build(case), tmp_path)
    for case in masked:
        of_keras.pack_implicit_masks(build(case), tmp_path)
    elsewhere.run_elsewhere(tmp_path, backend, way=way)
    for case in cases:
        with subtests.test(case.name):
            elsewhere.check(build(case), tmp_path, backend)
    for case in masked:
        with subtests.test(f"{case.name}, implicit masks"):
            of_keras.check_implicit_masks_elsewhere(build(case), tmp_path, backend)


@pytest.mark.slow
def test_everything_public_has_a_case():
    """One whose cheap laws are asked in every run."""
    used = set()
    for case in CASES:
        if case.name not in VARIATIONS:
            layer = case.make()
            used |= {type(one) for one in [layer, *layer._flatten_layers()]}
    rooms = [getattr(zoo, name) for name in ROOMS]
    public = [getattr(room, name) for room in rooms for name in room.__all__]
    missing = {one for one in public if inspect.isclass(one) and issubclass(one, keras.Layer)} - used
    assert not missing, f"no case covers {missing}"
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names) and set(VARIATIONS) <= set(names)
