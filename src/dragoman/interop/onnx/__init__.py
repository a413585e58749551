"""Models as ONNX graphs, with a decoder that needs NumPy and onnxruntime alone."""
