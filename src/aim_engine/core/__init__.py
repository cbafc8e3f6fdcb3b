"""Decisions: values in, values out. No I/O here; the clock is an argument."""
