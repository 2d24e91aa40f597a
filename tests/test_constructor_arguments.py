"""What a constructor is given can be read from the attribute of the same name, as in scikit-learn.

For every registered class and every argument: the attribute is what was given, `get_config` says the same, and so does
a clone. None may stand for a layer that the class makes itself, if its documentation says which ("None is ...").
"""

import inspect

import keras
import pytest

from tests.constructor_samples import PUBLIC, SAMPLES, arguments

# Keras' own arguments, of which Keras keeps something else: a policy, and a variable that a schedule moves.
OF_KERAS = {"dtype", "learning_rate"}


def made(sample):
    return {name: value() if callable(value) else value for name, value in sample.items()}


def is_part(value):
    return isinstance(value, keras.layers.Layer)


def check_same(cls, name, found, given):
    """`found` is what was given, and not only something that is equal to it."""
    where = f"{cls.__name__}.{name}"
    if is_part(given):
        assert found is given, where
    elif isinstance(given, list | tuple) and given and is_part(given[0]):
        assert len(found) == len(given) and all(one is other for one, other in zip(found, given, strict=True)), where
    elif given is None and is_part(found):
        assert "None is" in documentation(cls, name), f"{where}: say in the docstring what None stands for"
    else:
        assert found == given, f"{where} is {found!r}, given was {given!r}"
        assert isinstance(found, type(given)), (
            f"{where} is a {type(found).__name__}, given was a {type(given).__name__}"
        )


def documentation(cls, name):
    """What the docstring says of an argument, or that of the class to which it refers ("as of `Classifier`")."""
    for each in (cls, PUBLIC["Classifier"]):
        _, found, text = inspect.getdoc(each).partition(f"    {name}: ")
        if found:
            return " ".join(text.split("\n\n")[0].split())
    return ""


def plain(value):
    """As a config writes it."""
    if is_part(value):
        return keras.saving.serialize_keras_object(value)
    return [plain(each) for each in value] if isinstance(value, list | tuple) else value


def check(cls, given):
    each, names = cls(**given), arguments(cls)
    config = each.get_config()
    expected = {name: given.get(name, parameter.default) for name, parameter in names.items()}
    for name in names.keys() - OF_KERAS:
        assert hasattr(each, name), f"{cls.__name__} hides its argument {name!r}"
        check_same(cls, name, getattr(each, name), expected[name])
        assert name in config, f"the config of {cls.__name__} lacks {name!r}"
        agreed = [plain(getattr(each, name))] + [None] * (expected[name] is None)  # None makes the same layer anew
        assert plain(config[name]) in agreed, f"{cls.__name__}.get_config()[{name!r}]"
    clone = cls.from_config(config)
    assert clone.get_config() == config
    for name in names.keys() - OF_KERAS:
        ours, theirs = getattr(each, name), getattr(clone, name)
        made_anew = config[name] is None and is_part(ours)  # with a name of its own
        assert made_anew or plain(ours) == plain(theirs), f"a clone's {cls.__name__}.{name}"
        assert type(ours) is type(theirs), f"{cls.__name__}.{name}"


@pytest.mark.parametrize("name", PUBLIC)
def test_samples_leave_nothing_at_its_default(name):
    names = arguments(PUBLIC[name])
    assert set().union(*SAMPLES[name]) == names.keys()
    for argument, parameter in names.items():
        given = [sample[argument] for sample in SAMPLES[name] if argument in sample]
        assert any(each != parameter.default for each in given), argument


@pytest.mark.slow(but=61)
@pytest.mark.parametrize("name", PUBLIC)
def test_arguments_are_attributes(name):
    for sample in SAMPLES[name]:
        check(PUBLIC[name], made(sample))


@pytest.mark.parametrize("name", PUBLIC)
def test_defaults_are_attributes(name):
    required = {key for key, each in arguments(PUBLIC[name]).items() if each.default is each.empty}
    check(PUBLIC[name], {key: value for key, value in made(SAMPLES[name][0]).items() if key in required})
