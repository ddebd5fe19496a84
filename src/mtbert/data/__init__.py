"""Corpora: reading, checking, tokens and batches; and the generated sample."""
