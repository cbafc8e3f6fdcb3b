"""The templates that a model describes itself: their names, hardware and variables."""

import re
from collections.abc import Callable, Sequence

import msgspec

from aim_engine.api import names
from aim_engine.api.environment import EnvVar
from aim_engine.api.hardware import GpuRequirements, HardwareRequirements, ProfileType, RuntimeParameters
from aim_engine.api.model import AIMModelSpec, CustomTemplate
from aim_engine.api.template import TemplateSpec
from aim_engine.core import hardware, merge, naming

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


class WantedTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """A template to be made from an entry of the spec."""

    name: str
    alias: str = ""
    """The name its user gave it."""
    type: ProfileType
    parameters: RuntimeParameters
    env: tuple[EnvVar, ...] = ()


def wanted(model: str, spec: AIMModelSpec, is_free: Callable[[str], bool]) -> tuple[WantedTemplate, ...]:
    """One template per entry; a custom model without entries has exactly one.

    `is_free` tells whether the model may have a template of that name: nobody has it, or the model itself does.
    """
    if not spec.custom_templates:
        return (_template(spec, None, naming.custom_template(model, 0, None)),) if spec.model_sources else ()
    given = _names(model, spec.custom_templates, is_free)
    return tuple(_template(spec, entry, name) for entry, name in zip(spec.custom_templates, given, strict=True))


def _names(model: str, entries: Sequence[CustomTemplate], is_free: Callable[[str], bool]) -> list[str]:
    """The names users gave where they can be had, each once; made up ones for all others."""
    given: list[str] = []
    for index, entry in enumerate(entries):
        own = entry.name or ""
        usable = _NAME.fullmatch(own) and own not in given and is_free(own)
        given.append(own if usable else naming.custom_template(model, index, entry))
    return given


def _template(spec: AIMModelSpec, entry: CustomTemplate | None, name: str) -> WantedTemplate:
    """The entry over the model's defaults, which only custom models have."""
    defaults = spec.custom if spec.model_sources else None
    own = entry or CustomTemplate()
    needs = hardware.merged(defaults.hardware if defaults else None, own.hardware)
    profile = own.profile
    return WantedTemplate(
        name=name,
        alias=own.name or "",
        type=own.type or (defaults.type if defaults else None) or ProfileType.UNOPTIMIZED,
        parameters=RuntimeParameters(
            metric=profile.metric if profile else None,
            precision=profile.precision if profile else None,
            gpu=needs.gpu if needs else None,
            hardware=needs,
        ),
        env=merge.variables(spec.env, own.env),
    )


def must_be_made_anew(existing: TemplateSpec, parameters: RuntimeParameters) -> bool:
    """Whether a template differs in what the API server lets nobody change once it is set."""
    pairs = (
        (existing.metric, parameters.metric),
        (existing.precision, parameters.precision),
        (_filled(existing.hardware), _filled(parameters.hardware)),
        (_filled_gpu(existing.gpu), _filled_gpu(parameters.gpu)),
    )
    return any(before is not None and after is not None and before != after for before, after in pairs)


def _filled(needs: HardwareRequirements | None) -> HardwareRequirements | None:
    """As the API server stores it: quantities in their own form, the default resource filled in."""
    plain = hardware.canonical(needs)
    return msgspec.structs.replace(plain, gpu=_filled_gpu(plain.gpu)) if plain else None


def _filled_gpu(gpu: GpuRequirements | None) -> GpuRequirements | None:
    plain = hardware.canonical(HardwareRequirements(gpu=gpu)) if gpu else None
    filled = plain.gpu if plain else None
    if filled is None:
        return None
    return msgspec.structs.replace(filled, resource_name=filled.resource_name or names.DEFAULT_GPU_RESOURCE)
