"""Layers of others: what `zoo.register` accepts, what it refuses and says, and how modules and packages bring them."""

import os
import sys
import textwrap

import keras
import pytest

import zoo
from tests.house_rules import ROOT
from tests.recipes.small import recipe
from tests.shared import python
from zoo.core.protocols import Attention, FeedForward
from zoo.settings import occupants, table
from zoo.settings.slots import WHY_NOT
from zoo.tasks import TASKS


@pytest.fixture
def undone(monkeypatch):
    """Both registries are as before afterwards."""
    monkeypatch.setattr(occupants, "_occupants", {slot: {} for slot in occupants.SLOTS})
    before = dict(keras.saving.get_custom_objects())
    yield
    keras.saving.get_custom_objects().clear()
    keras.saving.get_custom_objects().update(before)


class Mine(keras.layers.Layer):
    def __init__(self, units, num_heads, width: int = 3, dropout=0.0, **kwargs):
        super().__init__(**kwargs)

    def call(self, query, value=None, *, query_mask=None, value_mask=None, causal=False, cache=None, training=None):
        return query


def test_a_class_is_put_into_its_slot(undone):
    assert zoo.register("attention", name="mine")(Mine) is Mine
    assert occupants.occupants("attention") == {"mine": Mine} and occupants.occupants("block") == {}
    assert keras.saving.get_registered_name(Mine) == "tests>Mine"
    assert occupants.settings_of(Mine) == {"width": (3, int)}
    zoo.register("attention", name="mine")(Mine)  # a module that is loaded again


def test_traits_of_a_property_are_known_with_a_layer():
    changing = type("Changing", (Mine,), {"traits": property(lambda self: Attention(causal=self.width > 1))})
    assert occupants.traits_of("attention", changing) is None and not occupants.find_problems("attention", changing)
    assert occupants.traits_of("attention", Mine) == Attention()
    assert occupants.traits_of("attention", type("Causal", (Mine,), {"traits": Attention(causal=True)})).causal


def test_every_need_of_a_model_has_a_sentence():
    needs = [each for task in TASKS.values() for choice in task.models.values() for each in choice.needs.values()]
    assert {pair for each in needs for pair in each.items()} == WHY_NOT.keys()


def test_what_a_model_cannot_have_is_refused_with_the_reason(undone):
    class Blind(Mine):
        """Sees all.

        Args:
            width: how far it sees. More is dearer.
        """

        traits = Attention(steps=False)

    zoo.register("attention", name="blind")(Blind)
    read = recipe("tagger", attention={"layer": "blind", "width": 5}).attention
    assert read.width == 5 and table.meaning(table.fields(type(read))["width"].type) == "how far it sees"
    with pytest.raises(ValueError, match="must be one of .*Blind sees the whole text at once, .*, as its traits say"):
        recipe("language_model", attention="blind")


def test_keras_names_stay(undone):
    known = keras.saving.register_keras_serializable("elsewhere")(type("Known", (Mine,), {}))
    zoo.register("attention", name="known")(known)
    assert keras.saving.get_registered_name(known) == "elsewhere>Known"


def test_taken_names_are_refused(undone):
    with pytest.raises(ValueError, match="cannot be called 'lsh' in the slot 'attention': that is the name of a layer"):
        zoo.register("attention", name="lsh")(Mine)
    zoo.register("attention", name="mine")(Mine)
    other = type("Other", (Mine,), {})
    with pytest.raises(ValueError, match=r"that is the name of .*Mine\. Choose another; taken are .*'mine'"):
        zoo.register("attention", name="mine")(other)
    twin = type("Mine", (Mine,), {"__module__": "tests.elsewhere"})
    with pytest.raises(ValueError, match="'tests>Mine' is already registered by tests.settings.test_occupants.Mine"):
        zoo.register("attention", name="twin")(twin)
    with pytest.raises(ValueError, match="Unknown slot: expected one of .*'attention'.*received 'atention'"):
        zoo.register("atention", name="mine")
    with pytest.raises(ValueError, match="small letters, digits and underscores.*Received: name='My attention'"):
        zoo.register("attention", name="My attention")


def silent(self, query, training=None):
    return query


def required(self, units, width, **kwargs):
    pass


def closed(self, units):
    pass


@pytest.mark.parametrize(
    ("slot", "members", "message"),
    [
        ("attention", {"call": silent}, "call must take value_mask, causal, which are given by name"),
        ("attention", {"__init__": required}, r"settings of its own need a default.*\['width'\] have none"),
        ("attention", {"__init__": closed}, r"must name its arguments and take \*\*kwargs, which go to Keras"),
        ("attention", {"traits": FeedForward()}, "traits must be a zoo.core.protocols.Attention, and are FeedForward"),
        ("attention", {"traits": Attention(steps=True)}, "promises the methods project, empty_cache, step"),
        ("feedforward", {"traits": FeedForward(uses_mask=True), "call": silent}, "call must take mask, which"),
        ("block", {}, "call must take mask, memory, memory_mask"),
        ("positions", {"call": silent}, "call must take mask"),
    ],
)
def test_what_cannot_stand_in_the_slot_is_said_at_once(undone, slot, members, message):
    with pytest.raises(ValueError, match=message):
        zoo.register(slot, name="mine")(type("Wrong", (Mine,), members))
    assert occupants.occupants(slot) == {}


def test_only_layers(undone):
    with pytest.raises(ValueError, match="expected a class that derives from keras.layers.Layer"):
        zoo.register("attention", name="mine")(object)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder that Python does not look into by itself, with modules."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))

    def write(name, code):
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(code), encoding="utf-8")
        monkeypatch.delitem(sys.modules, name, raising=False)

    return write


def test_modules_are_found_in_the_working_folder(folder):
    folder("zoo_brought", "X = 1")
    occupants.import_modules(["zoo_brought"])
    assert sys.modules["zoo_brought"].X == 1 and sys.path[-1] == os.getcwd(), "behind everything else"


@pytest.mark.parametrize("first", ["", ".", "cwd", "elsewhere"])
def test_a_module_that_a_recipe_names_is_not_taken_from_the_working_folder(folder, monkeypatch, tmp_path, first):
    """Wherever the working folder stands on Python's path, and also after another module was asked for there."""
    folder("zoo_strange", "open('ran', 'w')")
    folder("zoo_asked", "X = 2")
    sys.path.insert(0, os.getcwd() if first == "cwd" else first)
    occupants.import_modules(["zoo_asked"])
    before = sys.path[:]
    occupants.import_installed(["zoo_asked"])  # which is imported already, because it was asked for
    with pytest.raises(ValueError, match="recipe names the module 'zoo_strange'.*not found.*--import zoo_strange"):
        occupants.import_installed(["zoo_strange"])
    assert not (tmp_path / "ran").exists() and "zoo_strange" not in sys.modules and sys.path == before


def test_a_module_that_a_recipe_names_is_taken_from_where_it_is_installed(folder, monkeypatch, tmp_path):
    """Also where the working folder has one of the same name."""
    folder("zoo_both", "PLACE = 'working folder'")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "zoo_both.py").write_text("PLACE = 'installed'")
    monkeypatch.setattr(sys, "path", ["", *sys.path, str(tmp_path / "site")])
    occupants.import_installed(["zoo_both"])
    assert sys.modules.pop("zoo_both").PLACE == "installed"


def test_modules_that_fail_are_named(folder):
    with pytest.raises(ValueError, match="The module 'zoo_absent' was not found. Expected one that Python"):
        occupants.import_modules(["zoo_absent"])
    with pytest.raises(ValueError, match="'zoo_absent.inside' was not found"):
        occupants.import_modules(["zoo_absent.inside"])
    folder("zoo_broken", "import nothing_of_this_name")
    with pytest.raises(ValueError, match="could not be imported. ModuleNotFoundError: No module named 'nothing_of"):
        occupants.import_modules(["zoo_broken"])
    folder("zoo_taken", "import zoo, keras\nzoo.register('attention', name='lsh')(keras.layers.Layer)")
    with pytest.raises(ValueError, match="could not be imported. ValueError: keras.*cannot be called 'lsh'"):
        occupants.import_modules(["zoo_taken"])


@pytest.mark.parametrize("path", ["./zoo_mine.py", "zoo_mine.py", "some/zoo_mine.py", "some/zoo_mine", ".zoo_mine"])
def test_the_path_of_a_module_is_told_from_its_name(folder, path):
    folder("zoo_mine", "")
    with pytest.raises(ValueError, match=f"'{path}' is not the name of a module.* Ask for 'zoo_mine', and work in"):
        occupants.import_modules([path])


PACKAGE = ROOT / "tests" / "own_layers" / "linear-attention"


def in_a_fresh_process(code, folder, *paths):
    return python("-c", code, cwd=folder, PYTHONPATH=os.pathsep.join(map(str, (ROOT, *paths))))


def installed(folder, module="linear_attention"):
    """What pip writes about a package with an entry point, without the package."""
    about = folder / "linear_attention-0.1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: linear-attention\nVersion: 0.1.0\n", encoding="utf-8")
    (about / "entry_points.txt").write_text(f"[seqzoo.layers]\nlinear = {module}\n", encoding="utf-8")
    return folder


@pytest.mark.release(but="linear_attention")
@pytest.mark.slow
@pytest.mark.parametrize("first", ["keras", "linear_attention", "zoo.models"])
def test_an_installed_package_brings_its_layers(first, tmp_path):
    """Whatever is imported first, once, and with nothing but `import zoo`."""
    code = (
        f"import zoo, {first}, keras\nfrom zoo.settings.occupants import occupants\n"
        "print(list(occupants('attention')), "
        "keras.saving.get_registered_object('linear_attention>LinearAttention').__name__)"
    )
    done = in_a_fresh_process(code, tmp_path, PACKAGE, installed(tmp_path))
    assert done.stdout.strip() == "['linear'] LinearAttention"


def test_a_package_that_is_installed_meanwhile_is_found(tmp_path, monkeypatch):
    """What packages bring is remembered only until a folder of theirs changes."""
    monkeypatch.syspath_prepend(tmp_path)
    occupants.import_modules()
    installed(tmp_path, "not_there")
    with pytest.raises(ValueError, match="which linear-attention brings to seqzoo"):
        occupants.import_modules()


@pytest.mark.slow
def test_a_broken_package_does_not_keep_keras_away(tmp_path):
    code = "import zoo, keras; print(zoo.models.LanguageModel.__name__)"
    done = in_a_fresh_process(code, tmp_path, installed(tmp_path, "not_there"))
    assert done.stdout.strip() == "LanguageModel"
    assert "which linear-attention brings to seqzoo (entry point 'linear') was not found. Mend or un" in done.stderr


def test_asking_for_occupants_imports_no_framework(tmp_path):
    code = "import sys; from zoo.settings.occupants import import_modules; import_modules()"
    code += "; print({'keras', 'tensorflow'} & set(sys.modules))"
    assert in_a_fresh_process(code, tmp_path).stdout.strip() == "set()"
