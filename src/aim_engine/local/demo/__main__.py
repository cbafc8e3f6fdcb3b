"""The entrypoint of the demo image: `dry-run` prints the profile, `serve` serves."""

import argparse
import json
import os
import sys


def main() -> None:
    """Do what an AIM image does; what is in the way is one sentence on standard error and exit code 1."""
    parser = argparse.ArgumentParser(prog="aim")
    commands = parser.add_subparsers(dest="command", required=True)
    dry_run = commands.add_parser("dry-run", help="print the profile that would run")
    dry_run.add_argument("--format", choices=["json"], default="json")
    commands.add_parser("serve", help="serve the model")
    wanted: str = parser.parse_args().command
    from aim_engine.local.demo.profiles import NoProfile
    from aim_engine.local.demo.weights import WeightsMissing

    try:
        COMMANDS[wanted]()
    except (NoProfile, WeightsMissing, OSError, ValueError) as reason:
        sys.exit(f"aim: {reason}")


def print_profile() -> None:
    """Print the profile of this container's environment, as discovery reads it."""
    from aim_engine.local.demo import profiles, weights

    model = os.environ[profiles.MODEL]
    size = sum(len(content) for content in weights.contents(model).values())
    print(json.dumps([profiles.chosen(os.environ).as_discovered(model, size)]))


def serve() -> None:
    """Serve until told to stop."""
    import asyncio

    from aim_engine.local.demo import server

    asyncio.run(server.serve())


COMMANDS = {"dry-run": print_profile, "serve": serve}


if __name__ == "__main__":
    main()
