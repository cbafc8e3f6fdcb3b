"""Writes docs/reference/api.md from the types: `python -m scripts.api_reference`, which `make crds` runs."""

from pathlib import Path

from aim_engine.api import reference

FILE = Path(__file__).parents[1] / "docs" / "reference" / "api.md"

if __name__ == "__main__":
    FILE.write_text(reference.markdown(), encoding="utf-8")
