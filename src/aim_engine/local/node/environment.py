"""The environment, command and arguments of a container: values in, values out."""

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

import msgspec

from aim_engine.local.node import downward
from aim_engine.local.node.container_spec import Container, EnvironmentBundle, EnvironmentSource, KeySelector
from aim_engine.local.node.downward import Placement
from aim_engine.local.node.errors import ConfigurationError
from aim_engine.local.node.expansion import expand
from aim_engine.local.node.pod_spec import Pod

Kind = Literal["ConfigMap", "Secret"]


class Reference(NamedTuple):
    """A ConfigMap or Secret in the pod's namespace."""

    kind: Kind
    name: str


Data = Mapping[Reference, Mapping[str, bytes] | None]
"""What the ConfigMaps and Secrets hold; `None` for one that does not exist."""


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """What a container's spec says over its image; empty parts are the image's own."""

    command: tuple[str, ...]
    args: tuple[str, ...]
    environment: dict[str, str]


def references(container: Container) -> frozenset[Reference]:
    """Every ConfigMap and Secret the container's environment reads."""
    return frozenset(_references(container))


def build(container: Container, pod: Pod, data: Data, placement: Placement, base: Mapping[str, str]) -> Command:
    """Return command, arguments and environment with every `$(NAME)` expanded.

    `base` is what every container gets (the API server's address, POD_IP); the container's own entries win.
    """
    variables = dict(base)
    for bundle in container.env_from:
        variables.update(_bundle(bundle, data))
    for variable in container.env:
        if variable.value or variable.value_from is None:
            variables[variable.name] = expand(variable.value, variables)
            continue
        value = _from_source(variable.value_from, container, pod, data, placement)
        if value is not None:
            variables[variable.name] = value
    return Command(
        command=tuple(expand(part, variables) for part in container.command),
        args=tuple(expand(part, variables) for part in container.args),
        environment=variables,
    )


def _references(container: Container) -> Iterator[Reference]:
    for bundle in container.env_from:
        if bundle.config_map_ref:
            yield Reference("ConfigMap", bundle.config_map_ref.name)
        if bundle.secret_ref:
            yield Reference("Secret", bundle.secret_ref.name)
    for source in (variable.value_from for variable in container.env):
        if source and source.config_map_key_ref:
            yield Reference("ConfigMap", source.config_map_key_ref.name)
        if source and source.secret_key_ref:
            yield Reference("Secret", source.secret_key_ref.name)


def _bundle(bundle: EnvironmentBundle, data: Data) -> dict[str, str]:
    kind: Kind = "ConfigMap" if bundle.config_map_ref else "Secret"
    whole = bundle.config_map_ref or bundle.secret_ref
    if whole is None:
        return {}
    values = _whole(Reference(kind, whole.name), data, optional=whole.optional)
    return {bundle.prefix + key: _text(value) for key, value in (values or {}).items()}


def _from_source(
    source: EnvironmentSource, container: Container, pod: Pod, data: Data, placement: Placement
) -> str | None:
    if source.field_ref:
        return downward.field(source.field_ref, pod, placement)
    if source.resource_field_ref:
        return downward.resource(source.resource_field_ref, pod, container, placement)
    if source.config_map_key_ref:
        return _key("ConfigMap", source.config_map_key_ref, pod, data)
    if source.secret_key_ref:
        return _key("Secret", source.secret_key_ref, pod, data)
    raise ConfigurationError("A variable's valueFrom names a kind of source that this node does not offer.")


def _key(kind: Kind, selector: KeySelector, pod: Pod, data: Data) -> str | None:
    values = _whole(Reference(kind, selector.name), data, optional=selector.optional)
    if values is None:
        return None
    if selector.key in values:
        return _text(values[selector.key])
    if selector.optional:
        return None
    where = f"{kind} {pod.metadata.namespace}/{selector.name}"
    raise ConfigurationError(f"couldn't find key {selector.key} in {where}")


def _whole(reference: Reference, data: Data, *, optional: bool) -> Mapping[str, bytes] | None:
    values = data.get(reference)
    if values is None and not optional:
        raise ConfigurationError(f'{reference.kind.lower()} "{reference.name}" not found')
    return values


def _text(value: bytes) -> str:
    """A value as environments hold it: bytes that are no UTF-8 survive as they are."""
    return value.decode(errors="surrogateescape")
