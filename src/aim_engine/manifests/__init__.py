"""Desired objects: values in, plain manifests out, each function reading like the YAML it makes. No I/O here."""
