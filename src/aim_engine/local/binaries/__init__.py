"""Programs that the local cluster runs and Go makes: found, downloaded or built once, then kept in the user's cache.

    kubectl = await binaries.find("kubectl")

Four ways are tried in this order, and the first that works wins:

1. the directory that AIM_KUBERNETES_BIN names,
2. the user's cache directory,
3. the official releases (the control plane only), with their checksums,
4. Go: the folder of `kubernetes/` that `catalog.MODULES` names for the program.

A further program is one folder with a go.mod in `kubernetes/` and one line in `catalog.MODULES`.
"""

from aim_engine.local.binaries.finding import find
from aim_engine.local.binaries.sources import Sources

__all__ = ["Sources", "find"]
