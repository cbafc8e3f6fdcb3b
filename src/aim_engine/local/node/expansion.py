"""`$(NAME)` in commands, arguments and values of variables, as Kubernetes reads it."""

import re
from collections.abc import Mapping

_REFERENCE = re.compile(r"\$(?:\$|\(([^)]*)\))")


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Replace `$(NAME)` by its value and `$$` by `$`; a name that is not known stays as it was written."""

    def value(found: re.Match[str]) -> str:
        if found[0] == "$$":
            return "$"
        return variables.get(found[1], found[0])

    return _REFERENCE.sub(value, text)
