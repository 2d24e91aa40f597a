"""Keras: the contract battery, for the zoo's own layers and for yours: `python -m zoo.check MODULE.CLASS`.

`laws` has the battery, `slots` the cases of a layer in its slot, `uses` what else it may be used for, `report` the
lines. The tests of the zoo ask the same laws of its own layers.
"""
