#!/usr/bin/env python3
"""Print the bytes of the Hugging Face repository in MODEL_PATH; exit 1 not found, 2 gated, 3 anything else."""

import sys

from aim_engine.downloader.__main__ import main

sys.exit(main(["hf-size"]))
