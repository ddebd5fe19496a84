"""Use trained models: predict, embed, serve with MLflow, and export to other libraries."""
