"""Narrow views of a pod's volumes."""

import msgspec

from aim_engine.local.node.container_spec import FieldSelector, ResourceSelector
from aim_engine.objects import Wire


class KeyToPath(Wire):
    """One key of a ConfigMap or Secret as a file."""

    key: str
    path: str
    mode: int | None = None


class ConfigMapSource(Wire):
    """Files from a ConfigMap."""

    name: str = ""
    items: tuple[KeyToPath, ...] = ()
    default_mode: int = 0o644
    optional: bool = False


class SecretSource(Wire):
    """Files from a Secret; a projection calls it `name`, a volume `secretName`."""

    secret_name: str = ""
    name: str = ""
    items: tuple[KeyToPath, ...] = ()
    default_mode: int = 0o644
    optional: bool = False


class DownwardFile(Wire):
    """A field of the pod as a file."""

    path: str
    field_ref: FieldSelector | None = None
    resource_field_ref: ResourceSelector | None = None
    mode: int | None = None


class DownwardSource(Wire):
    """Files with fields of the pod."""

    items: tuple[DownwardFile, ...] = ()
    default_mode: int = 0o644


class TokenSource(Wire):
    """A service account token, bound to the pod, as a file."""

    path: str
    audience: str = ""
    expiration_seconds: int = 3600


class Projection(Wire):
    """One part of a projected volume; exactly one is set."""

    config_map: ConfigMapSource | None = None
    secret: SecretSource | None = None
    downward_api: DownwardSource | None = msgspec.field(default=None, name="downwardAPI")
    service_account_token: TokenSource | None = None


class ProjectedSource(Wire):
    """Files from several sources in one directory."""

    sources: tuple[Projection, ...] = ()
    default_mode: int = 0o644


class EmptyDirectory(Wire):
    """A directory that lives as long as the pod."""

    medium: str = ""


class ClaimSource(Wire):
    """The directory of a PersistentVolumeClaim."""

    claim_name: str
    read_only: bool = False


class Present(Wire):
    """A volume of a kind that is recognised by its name alone."""


class Volume(Wire):
    """One volume of a pod; a kind this node does not offer leaves every field but the name empty."""

    name: str
    empty_dir: EmptyDirectory | None = None
    config_map: ConfigMapSource | None = None
    secret: SecretSource | None = None
    downward_api: DownwardSource | None = msgspec.field(default=None, name="downwardAPI")
    projected: ProjectedSource | None = None
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: Present | None = None
    host_path: Present | None = None
