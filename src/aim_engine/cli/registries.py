"""The one reader of container registries, as the settings describe it."""

from pathlib import Path

from aim_engine.registry import credentials, mirrors
from aim_engine.registry.client import Registry
from aim_engine.registry.limits import Limits
from aim_engine.settings import Settings


def of(settings: Settings, limits: Limits | None = None) -> Registry:
    """The registry client of this operator; raises RegistryError for a setting that cannot be used."""
    return Registry(
        limits=limits,
        mirrors=mirrors.parse(settings.registry_mirrors),
        ca_file=Path(settings.registry_ca_file) if settings.registry_ca_file else None,
        own=credentials.read_docker_config(Path(settings.docker_config) / "config.json"),
    )
