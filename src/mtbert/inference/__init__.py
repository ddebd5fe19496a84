"""Use trained models: predict, serve with MLflow, and export to other libraries."""
