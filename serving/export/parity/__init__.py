"""The parity check: Keras, SavedModel and ONNX must give equal results over a grid of shapes and paddings.

`reference` runs the Keras model in this process, `check` the exported forms in a new process that does not import the
zoo, and `compare` calls both. `ties` and `sensitivity` say what rounding explains of a difference.
"""
