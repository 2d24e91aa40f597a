"""The parity check: Keras, SavedModel and ONNX must give equal results over a grid of shapes and paddings.

`grid` makes the inputs. `reference` runs the Keras model in this process. `check` runs the exported forms in a new
process that does not import the zoo. `compare` calls first `reference` and then `check`.
"""
