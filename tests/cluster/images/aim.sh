#!/bin/sh
# An AIM image: asked which profile it would run it prints that, otherwise it serves.
if [ "$1" = dry-run ]; then exec /dry-run; fi
exec "$PYTHON" /server.py
