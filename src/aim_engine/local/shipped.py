"""Where the files of this project that are not Python lie: beside the source tree, or inside the installed package."""

from pathlib import Path

import aim_engine
from aim_engine.local.errors import LocalError

_PACKAGE = Path(aim_engine.__file__).parent


def directory(name: str) -> Path:
    """The folder that the project's root calls `name`, such as `kubernetes`, from any working directory."""
    places = (_PACKAGE / "_shipped" / name, _PACKAGE.parents[1] / name)
    for place in places:
        if place.is_dir():
            return place
    raise LocalError(f"The folder {name} is neither {places[0]} nor {places[1]}; reinstall aim-engine.")
