#!/bin/sh
exec "${PYTHON:-python3}" -m aim_engine.downloader hf-verify "$@"
