"""Trained models in the forms that other libraries load.

bundling: the code that a model goes through, as files that stand by themselves. modeling: the model as transformers
knows models; goes into an export with that code. folders: a folder for transformers, sentence-transformers or ONNX.
cards: what a model card says.
"""
