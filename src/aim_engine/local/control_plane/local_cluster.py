"""Which local cluster a kubeconfig belongs to."""

from pathlib import Path

import msgspec

from aim_engine.local.control_plane.cluster import Cluster, Files
from aim_engine.local.errors import LocalError


def cluster_of(kubeconfig: Path) -> Cluster:
    """The cluster whose kubeconfig this is: its directory also holds addresses and an authority for its parts."""
    facts = Files(kubeconfig.absolute().parent).facts
    try:
        return msgspec.json.decode(facts.read_bytes(), type=Cluster)
    except OSError as error:
        raise LocalError(
            f"{kubeconfig} does not belong to a local cluster ({facts.name} is not beside it); "
            "name the kubeconfig of a cluster that was started with `aim cluster start`."
        ) from error
    except msgspec.DecodeError as error:
        raise LocalError(f"{facts} can't be read: {error}.") from error
