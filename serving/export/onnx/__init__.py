"""TensorFlow functions to ONNX: convert, native operators, loop passes, int8."""
