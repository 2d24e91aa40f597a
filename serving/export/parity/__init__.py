"""The parity check: Keras, SavedModel and ONNX must give equal results over a grid of shapes and paddings.

`expected` runs the Keras model in this process, and says what rounding explains of a difference. `check` runs the
exported forms in a new process that does not import the zoo. `compare` calls both.
"""
