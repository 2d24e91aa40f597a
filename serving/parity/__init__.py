"""Keras = SavedModel = ONNX, over a grid of shapes and paddings; failure is failure.

`grid` makes inputs, `reference` asks the Keras model (the process that has the zoo), `check` asks the exported forms (a
fresh process that does not import the zoo), `compare` runs the second after the first.
"""
