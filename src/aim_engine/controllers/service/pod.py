"""What the pods of a service should be: by its model, its template, its runtime config and its own wishes."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from aim_engine.api.environment import LocalObjectReference
from aim_engine.api.model import AIMModel
from aim_engine.api.service import AIMServiceSpec
from aim_engine.api.template import AIMServiceTemplate, TemplateSpec
from aim_engine.controllers.service.seen import Seen
from aim_engine.core import container_resources, inference_env
from aim_engine.manifests.inference_service import Pod


class Level(NamedTuple):
    """By what an image may be pulled and pods may act, as the service, its template or its model says."""

    secrets: Sequence[LocalObjectReference]
    account: str | None
    is_here: bool
    """Whether it was written for the service's namespace."""


def inference_pod(spec: AIMServiceSpec, seen: Seen) -> tuple[Pod | None, tuple[str, ...]]:
    """What the pods should be, and which layers gave engine arguments that are no JSON object."""
    template, model = seen.template.usable, seen.model.model
    if template is None or template.spec is None or template.status is None:
        return None, ()
    if model is None or model.spec is None or not model.spec.image:
        return None, ()
    env = inference_env.build(spec.env, template.spec, seen.config.spec.env, template.status.profile)
    levels = (
        Level(spec.image_pull_secrets, spec.service_account_name, is_here=True),
        Level(
            template.spec.image_pull_secrets,
            template.spec.service_account_name,
            isinstance(template, AIMServiceTemplate),
        ),
        Level(model.spec.image_pull_secrets, model.spec.service_account_name, isinstance(model, AIMModel)),
    )
    pod = Pod(
        image=model.spec.image,
        env=env.variables,
        resources=container_resources.build(
            template.status.resolved_hardware,
            {"model": model.spec.resources, "template": template.spec.resources, "service": spec.resources},
        ),
        affinity=template.status.resolved_node_affinity,
        pull_secrets=pull_secrets(levels, seen),
        service_account=service_account(levels, seen),
    )
    return pod, env.invalid_arguments


def usable_here(spec: TemplateSpec, seen: Seen) -> TemplateSpec:
    """A cluster template's spec, with only those secrets and that account which the service's namespace has."""
    account = spec.service_account_name
    return msgspec.structs.replace(
        spec,
        image_pull_secrets=tuple(one for one in spec.image_pull_secrets if seen.has_secret(one.name)),
        service_account_name=account if account and seen.has_account(account) else None,
    )


def pull_secrets(levels: Sequence[Level], seen: Seen) -> tuple[str, ...]:
    """The secrets of all levels; of those written for the whole cluster only the ones that this namespace has."""
    named = (
        secret.name for level in levels for secret in level.secrets if level.is_here or seen.has_secret(secret.name)
    )
    return tuple(dict.fromkeys(name for name in named if name))


def service_account(levels: Sequence[Level], seen: Seen) -> str:
    """The first account that is named and that pods of this namespace can use."""
    usable = (one.account for one in levels if one.account and (one.is_here or seen.has_account(one.account)))
    return next(usable, "")
