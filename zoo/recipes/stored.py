"""Recipes as earlier versions left them in run folders, where some settings stand that have no effect."""

from zoo.recipes.effects import useless
from zoo.recipes.files import read
from zoo.recipes.layers import IN_BLOCKS, LAYERS, SLOTS, number_of_blocks
from zoo.recipes.recipe import DEFAULTS, completed, make


def read_stored(path):
    """The recipe of a run folder.

    A run was trained without what has no effect, however it is written down, so that is left out here instead of
    refused as in a recipe that is still to be trained (`zoo.recipes.load`).
    """
    return make(_mended(read(path)))


def _mended(settings):
    whole = completed({"max_input_length": 0} | settings)  # a run without it was trained on whole texts
    for slot in SLOTS:
        whole[slot] = {name: value for name, value in whole[slot].items() if _is_read(slot, whole, name, value)}
    for slot in IN_BLOCKS:
        blocks = range(1, number_of_blocks(whole) + 1)
        if not set(whole[slot].get("blocks", blocks)) & set(blocks):
            whole[slot] = {"layer": ""}
    whole = completed(whole | {slot: whole[slot]["layer"] and whole[slot] for slot in SLOTS})
    for name in useless(whole, DEFAULTS):
        whole[name] = DEFAULTS[name]
    if whole["block"] == "macaron":
        whole["hidden_units"] -= whole["hidden_units"] % 2  # what its two halves came to
    return whole


def _is_read(slot, settings, name, value):
    """Whether a layer reads this setting of its own, beside the others."""
    layer = LAYERS[slot][settings[slot]["layer"]]
    setting = layer.own.get(name)
    others = {} if setting is None or value == setting.default else setting.only
    return all(settings[slot].get(other, layer.own[other].default) in allowed for other, allowed in others.items())
