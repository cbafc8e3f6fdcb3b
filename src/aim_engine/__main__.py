"""`python -m aim_engine`: the command `aim` of this very interpreter, wherever that is on PATH."""

from aim_engine.cli import main

main()
