"""TensorFlow functions to ONNX: convert, native recurrent operators, loop passes, int8."""
