"""The files of ConfigMap, Secret, downward API and projected volumes: values in, values out."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from aim_engine.local.node import downward
from aim_engine.local.node.downward import Placement
from aim_engine.local.node.environment import Data, Reference
from aim_engine.local.node.errors import MountError
from aim_engine.local.node.pod_spec import Pod
from aim_engine.local.node.volume_spec import (
    ConfigMapSource,
    DownwardSource,
    KeyToPath,
    Projection,
    SecretSource,
    TokenSource,
    Volume,
)

PRIVATE = 0o600


class File(msgspec.Struct, frozen=True):
    """Content and permissions of one file."""

    content: bytes
    mode: int


Files = dict[str, File]
"""Path inside the volume -> file."""


class Inputs(msgspec.Struct, frozen=True, kw_only=True):
    """What the files are made from; tokens by the path they are asked for."""

    pod: Pod
    placement: Placement
    data: Data
    tokens: Mapping[str, str]


def projections(volume: Volume) -> tuple[Projection, ...]:
    """The sources of a volume that is made of files, whatever its kind; empty for every other volume."""
    if volume.projected:
        return volume.projected.sources
    if volume.config_map or volume.secret or volume.downward_api:
        return (Projection(config_map=volume.config_map, secret=volume.secret, downward_api=volume.downward_api),)
    return ()


def references(volume: Volume) -> Iterator[Reference]:
    """Every ConfigMap and Secret the volume reads."""
    for part in projections(volume):
        if part.config_map:
            yield Reference("ConfigMap", part.config_map.name)
        if part.secret:
            yield Reference("Secret", _secret_name(part.secret))


def tokens(volume: Volume) -> tuple[TokenSource, ...]:
    """Every service account token the volume holds."""
    return tuple(part.service_account_token for part in projections(volume) if part.service_account_token)


def build(volume: Volume, inputs: Inputs) -> Files:
    """Return all files of the volume; what is missing and not optional raises MountError."""
    default = volume.projected.default_mode if volume.projected else None
    files: Files = {}
    for part in projections(volume):
        files |= _part(part, inputs, default)
    return files


def _part(part: Projection, inputs: Inputs, default: int | None) -> Files:
    if part.config_map:
        return _config_map(part.config_map, inputs, default)
    if part.secret:
        return _secret(part.secret, inputs, default)
    if part.downward_api:
        return _downward(part.downward_api, inputs, default)
    if part.service_account_token:
        return _token(part.service_account_token, inputs, default)
    raise MountError("a projected source is of a kind that this node does not offer")


def _config_map(source: ConfigMapSource, inputs: Inputs, default: int | None) -> Files:
    mode = source.default_mode if default is None else default
    reference = Reference("ConfigMap", source.name)
    return _keys(reference, inputs.data, source.items, mode, optional=source.optional)


def _secret(source: SecretSource, inputs: Inputs, default: int | None) -> Files:
    mode = source.default_mode if default is None else default
    reference = Reference("Secret", _secret_name(source))
    return _keys(reference, inputs.data, source.items, mode, optional=source.optional)


def _secret_name(source: SecretSource) -> str:
    return source.secret_name or source.name


def _keys(reference: Reference, data: Data, items: Sequence[KeyToPath], mode: int, *, optional: bool) -> Files:
    values = data.get(reference)
    if values is None:
        if optional:
            return {}
        raise MountError(f'{reference.kind.lower()} "{reference.name}" not found')
    if not items:
        return {key: File(value, mode) for key, value in values.items()}
    missing = [item.key for item in items if item.key not in values]
    if missing and not optional:
        raise MountError(f"references non-existent {_WORD[reference.kind]} key: {missing[0]}")
    present = [item for item in items if item.key in values]
    return {item.path: File(values[item.key], item.mode if item.mode is not None else mode) for item in present}


_WORD = {"ConfigMap": "config", "Secret": "secret"}


def _downward(source: DownwardSource, inputs: Inputs, default: int | None) -> Files:
    mode = source.default_mode if default is None else default
    files: Files = {}
    for item in source.items:
        if item.field_ref:
            text = downward.field(item.field_ref, inputs.pod, inputs.placement)
        elif item.resource_field_ref:
            text = downward.resource(item.resource_field_ref, inputs.pod, None, inputs.placement)
        else:
            continue
        files[item.path] = File(text.encode(), item.mode if item.mode is not None else mode)
    return files


def _token(source: TokenSource, inputs: Inputs, default: int | None) -> Files:
    context = inputs.pod.spec.security_context
    narrowed = context.run_as_user is not None or context.fs_group is not None
    mode = PRIVATE if narrowed else (default if default is not None else 0o644)
    return {source.path: File(inputs.tokens[source.path].encode(), mode)}
