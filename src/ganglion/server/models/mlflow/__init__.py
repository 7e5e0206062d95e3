"""Tracking servers of MLflow: versions of models, and the files that they hand out."""
