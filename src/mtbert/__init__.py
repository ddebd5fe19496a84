"""mtbert: a cached, reproducible bench for ways to make one BERT serve several sentence tasks."""
