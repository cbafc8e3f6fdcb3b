"""The variables of an inference container: service over template over runtime config over profile over defaults."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from aim_engine.api import names
from aim_engine.api.environment import EnvVar
from aim_engine.api.template import Profile, TemplateSpec
from aim_engine.core import merge

DEFAULTS: Final = (
    EnvVar(name="AIM_CACHE_PATH", value=names.CACHE_MOUNT_BASE),
    EnvVar(name="VLLM_ENABLE_METRICS", value="true"),
)


class Layer(NamedTuple):
    """Variables from one place, and what that place is called."""

    name: str
    variables: Sequence[EnvVar]


class Environment(NamedTuple):
    """The variables, and the layers whose engine arguments are no JSON object."""

    variables: tuple[EnvVar, ...]
    invalid_arguments: tuple[str, ...]


def build(
    service: Sequence[EnvVar], template: TemplateSpec, config: Sequence[EnvVar], profile: Profile | None
) -> Environment:
    """All variables, sorted by name; each name once."""
    layers = (
        Layer("profile", _profile(profile)),
        Layer("runtime config", config),
        Layer("template", _template(template)),
        Layer("service", service),
    )
    asked = any(_arguments(layer.variables) for layer in layers)
    lowest = _engine_arguments(profile) if asked else ()
    merged = merge.variables_and_arguments(DEFAULTS, lowest, *(layer.variables for layer in layers))
    wrong = tuple(layer.name for layer in layers if _is_wrong(_arguments(layer.variables)))
    return Environment(tuple(sorted(merged, key=lambda entry: entry.name)), wrong)


def _profile(profile: Profile | None) -> tuple[EnvVar, ...]:
    given = profile.env_vars if profile else {}
    return tuple(EnvVar(name=name, value=value) for name, value in sorted(given.items()))


def _template(template: TemplateSpec) -> tuple[EnvVar, ...]:
    """What a template says by its fields gives way to what it writes out, but for the model it brings itself."""
    derived = {
        "AIM_PROFILE_ID": template.profile_id,
        "AIM_METRIC": template.metric,
        "AIM_PRECISION": template.precision,
    }
    by_fields = [EnvVar(name=name, value=str(value)) for name, value in derived.items() if value]
    own = [EnvVar(name="AIM_MODEL_ID", value=source.model_id) for source in template.model_sources[:1]]
    return merge.variables(by_fields, template.env, own)


def _arguments(variables: Sequence[EnvVar]) -> EnvVar | None:
    return next((entry for entry in variables if entry.name == merge.ENGINE_ARGUMENTS), None)


def _engine_arguments(profile: Profile | None) -> tuple[EnvVar, ...]:
    """What the profile was made with; it counts once somebody asks for arguments, else the image knows it anyway."""
    made_with = profile.engine_args if profile else None
    if not isinstance(made_with, dict):
        return ()
    return (EnvVar(name=merge.ENGINE_ARGUMENTS, value=msgspec.json.encode(made_with, order="sorted").decode()),)


def _is_wrong(entry: EnvVar | None) -> bool:
    if entry is None or entry.value_from is not None or not (entry.value or "").strip():
        return False
    return merge.json_object(entry.value or "") is None
