"""The command `aim`. Each subcommand's module is imported only when it is called, so that starting stays quick."""

from aim_engine.cli.main import main

__all__ = ["main"]
