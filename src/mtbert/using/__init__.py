"""Trained models in use: loaded from where they lie, asked for predictions and embeddings, read from and to tables."""
