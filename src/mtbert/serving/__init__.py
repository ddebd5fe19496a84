"""Serve an ONNX export over HTTP: a server that needs neither torch nor transformers."""
