"""Write trained models in the forms that other libraries load.

bundling copies the code that a model uses into files that need no other code of mtbert. modeling is the model as a
class of transformers, which an export brings with that code. folders writes a folder for transformers,
sentence-transformers or ONNX, and cards its model card.
"""
