"""AIM Engine: a Kubernetes operator that serves language models on AMD GPUs."""

__version__ = "0.1.0"
