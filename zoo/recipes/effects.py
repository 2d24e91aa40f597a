"""Where each setting of a recipe has an effect, as a table; what has none is refused and never dropped in silence."""

from zoo.recipes.kinds import Kind, at_least
from zoo.recipes.layers import IN_BLOCKS, LAYERED, LAYERS, SLOTS, default, placed

GENERATED = ("dates", "reversal", "duplication")
WRITERS = ("seq2seq", "transformer")  # models that read one text and write another
LABELLERS = ("classifier", "tagger")
WRITING, LABELLING = {"model": WRITERS}, {"model": LABELLERS}
OWN_TARGET = {"model": WRITERS, "shared_vocabulary": (False,)}
DRAWING = {"model": LABELLERS, "subword_candidates": at_least(2)}
BUCKETED = {"data": ("dates", "reversal", "duplication", "parallel", "trec", "sst", "sst5", "babi", "tagged")}
EXTENDABLE = {"model": (*WRITERS, "language_model")}  # models that write a text

# A setting is read only where all of these other settings have one of these values. Settings that are not in the table
# have an effect in every recipe.
NEEDS = {
    "source_language": WRITING,
    "target_language": WRITING,
    "train_split": {"data": ("parallel", "tagged")},
    "valid_split": {"data": ("parallel", "tagged")},
    "test_split": {"data": ("parallel", "tagged")},
    "train_size": {"data": GENERATED},
    "valid_size": {"data": GENERATED},
    "test_size": {"data": GENERATED},
    "shortest": {"data": ("reversal",)},
    "longest": {"data": ("reversal", "duplication")},
    "babi_task": {"data": ("babi",)},
    "phrases": {"data": ("sst", "sst5")},
    "target_vocab_size": OWN_TARGET,
    "target_pieces": OWN_TARGET,
    "target_normalization": OWN_TARGET,
    "source_normalization": {"model": (*WRITERS, *LABELLERS)},  # a language model writes its text as it is
    "shared_vocabulary": WRITING,
    "joiner": WRITING,
    "subword_candidates": {"model": LABELLERS, "source_pieces": ("unigram",)},
    "subword_rare": DRAWING,
    "subword_alpha": DRAWING,
    "token_dropout": LABELLING,
    "spelling": LABELLING,
    "spelling_alone": {"model": LABELLERS, "spelling": (True,)},
    "max_input_length": LABELLING,
    "sentences": {"model": ("classifier",), "spelling": (False,)},
    "cell": {"model": ("seq2seq",)},
    "block": {"model": LAYERED},
    "num_buckets": BUCKETED,
    "max_length": BUCKETED,
    "row_learning_rate": {"feedforward": ("product_key",)},
    "loss_chunks": {"model": ("language_model", "transformer")},
    "beam": WRITING,
    "alpha": EXTENDABLE,
    "max_output_length": EXTENDABLE,
}
TAKEN = ("num_heads", "hidden_units", "activation", "context")  # settings that reach layers, which say so (`Layer`)
ALSO = {"context": {"data": ("text",)}}  # where one of these is read besides


def useless(settings, defaults):
    """`{name: why}` of the settings that differ from their default and have no effect.

    Args:
        settings: a mapping of every setting of a recipe, whose slots are tables.
        defaults: the same of the defaults, as far as there are any; those of slots are not looked at.
    """
    given = [name for name, value in defaults.items() if name not in SLOTS and settings[name] != value]
    found = {name: why for name in given if (why := _why_useless(name, settings))}
    for slot in IN_BLOCKS:
        if settings[slot] != {"layer": default(slot, settings["model"])} and (why := _replaced(slot, settings)):
            found[slot] = why
    return found


def _why_useless(name, settings):
    if name in TAKEN:
        if _taken(name, settings) or (name in ALSO and not _missing(ALSO[name], settings)):
            return None
        layers = ", ".join(f"{slot} = {settings[slot]['layer']!r}" for slot in SLOTS)
        return f"none of the layers of this model takes it ({layers})"
    missing = _missing(NEEDS.get(name, {}), settings)
    return f"it is for recipes with {missing}" if missing else _replaced(name, settings)


def _taken(name, settings):
    """Whether some layer of the model takes a setting, and no setting of its own stands for it."""
    return any(
        name in layer.takes and not any(layer.instead.get(own) == name for own in table)
        for _, layer, table in placed(settings)
    )


def _missing(needs, settings):
    """What `needs` ask for and the settings have not, in words; empty where all is there."""
    wrong = [(name, allowed) for name, allowed in needs.items() if not _holds(settings[name], allowed)]
    return " and ".join(f"{name} {_words(allowed)} (here {_plain(settings[name])!r})" for name, allowed in wrong)


def _plain(value):
    return value["layer"] if isinstance(value, dict) else value


def _holds(value, allowed):
    return allowed.accepts(value) if isinstance(allowed, Kind) else _plain(value) in allowed


def _words(allowed):
    return allowed.words if isinstance(allowed, Kind) else "= " + " or ".join(repr(each) for each in allowed)


def _replaced(name, settings):
    depth = settings["depth"]["layer"]
    if name in LAYERS["depth"][depth].replaces:
        return f"depth = {depth!r} has blocks of its own, which leave no place for it"
    return None
