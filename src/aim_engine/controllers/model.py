"""AIMModel and AIMClusterModel: what an image says of itself, and the templates that follow from it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from aim_engine.api.foreign import ServiceAccount
from aim_engine.api.hardware import RuntimeParameters
from aim_engine.api.image_metadata import ImageMetadata
from aim_engine.api.model import AIMClusterModel, AIMModel, AIMModelStatus, Model
from aim_engine.api.runtime_config import RuntimeConfigSpec
from aim_engine.api.template import Template
from aim_engine.controllers import configs, inspection
from aim_engine.controllers.cluster import Cluster
from aim_engine.controllers.concept import Concept
from aim_engine.core import custom_templates, models, recommendations
from aim_engine.core.conditions import Judgement
from aim_engine.core.health import Component
from aim_engine.core.models import Inspection, Switches
from aim_engine.core.plan import Plan, aim_target
from aim_engine.core.problems import Dependency
from aim_engine.core.recommendations import Recommendations
from aim_engine.core.runtime_config import Resolution
from aim_engine.core.transitions import Note
from aim_engine.kube.controller import Wake
from aim_engine.kube.informer import Informer
from aim_engine.kube.store import Change
from aim_engine.manifests import service_template
from aim_engine.objects import Key, Manifest


@dataclass(frozen=True)
class Seen:
    """What a pass reads."""

    config: Resolution
    inspection: Inspection
    templates: Sequence[Template]
    """All that name the model, whoever made them."""
    neighbours: dict[str, Template]
    """The templates of the same names as the custom ones."""


@dataclass(frozen=True)
class View:
    """What a pass makes of it."""

    config: RuntimeConfigSpec
    components: tuple[Component, ...]
    notes: tuple[Note, ...]
    seen: Seen
    on: Switches
    recommended: Recommendations


NONE_RECOMMENDED = Recommendations(())


async def fetch(model: Model, cluster: Cluster) -> Seen:
    assert model.spec is not None
    config = configs.resolve(model.metadata, model.spec.runtime_config_name, cluster)
    templates = cluster.templates if model.metadata.namespace else cluster.cluster_templates
    mentioned = [entry.name for entry in model.spec.custom_templates if entry.name]
    near = [templates.store.get(Key(model.metadata.namespace, name)) for name in mentioned]
    return Seen(
        config=config,
        inspection=await inspect(model, config.spec, cluster),
        templates=cluster.templates_of(model.metadata.key),
        neighbours={one.metadata.name: one for one in near if one},
    )


async def inspect(model: Model, config: RuntimeConfigSpec, cluster: Cluster) -> Inspection:
    """What the image says, if that has to be found out; what the spec says of it is used as it is."""
    assert model.spec is not None
    on = models.switches(model.spec, config)
    if on.extract and model.spec.image_metadata:
        return Inspection(model.spec.image_metadata)
    if not models.must_be_inspected(model.spec, model.status, on):
        return Inspection()
    result = await inspection.inspect(model, cluster)
    if result.problem and not model.metadata.namespace:
        return Inspection(problem=models.for_cluster(result.problem))
    return result


def observe(model: Model, seen: Seen, _: datetime) -> View:
    assert model.spec is not None
    on = models.switches(model.spec, seen.config.spec)
    metadata = models.known_metadata(model.spec, model.status, on)
    recommended = recommendation(model, metadata, on)
    own = bool(model.metadata.namespace)
    dependency = Dependency.UNSPECIFIED if own else Dependency.UPSTREAM
    return View(
        config=seen.config.spec,
        components=(
            seen.config.component,
            models.metadata_component(seen.inspection, recommended.remarks, dependency),
            models.templates_component(
                "ServiceTemplates" if own else "ClusterServiceTemplates",
                seen.templates,
                models.expected(model.spec, metadata, on),
                dependency,
            ),
        ),
        notes=(),
        seen=seen,
        on=on,
        recommended=recommended,
    )


def recommendation(model: Model, metadata: ImageMetadata | None, on: Switches) -> Recommendations:
    """What the image recommends; a custom model brings weights of its own instead."""
    assert model.spec is not None
    if model.spec.model_sources or not on.create or metadata is None or metadata.model is None:
        return NONE_RECOMMENDED
    return recommendations.templates(model.metadata.name, model.spec.image, metadata.model.recommended_deployments)


def plan(model: Model, view: View) -> Plan:
    """All wanted templates as they should be; one that cannot be changed to that goes first and comes again."""
    existing = {template.metadata.name: template for template in view.seen.templates if owns(model, template)}
    planned = wanted(model, view)
    outdated = [
        existing[name]
        for parameters, manifest in planned
        if (name := manifest["metadata"]["name"]) in existing and is_outdated(existing[name], parameters)
    ]
    going = {template.metadata.name for template in outdated}
    return Plan(
        apply=tuple(manifest for _, manifest in planned if manifest["metadata"]["name"] not in going),
        delete=tuple(aim_target(type(template).__name__, template.metadata) for template in outdated),
    )


def wanted(model: Model, view: View) -> list[tuple[RuntimeParameters, Manifest]]:
    """The templates to be there; none from metadata while the image cannot be read."""
    assert model.spec is not None
    metadata, spec = model.metadata, model.spec
    recommended = () if view.seen.inspection.problem else view.recommended.templates
    own = custom_templates.wanted(metadata.name, spec, lambda name: is_free(name, model, view))
    return [
        *((one.parameters, service_template.recommended(metadata, spec, one)) for one in recommended),
        *((one.parameters, service_template.custom(metadata, spec, one)) for one in own),
    ]


def is_free(name: str, model: Model, view: View) -> bool:
    """Whether the model may have a template of this name."""
    present = view.seen.neighbours.get(name)
    return present is None or owns(model, present)


def owns(model: Model, template: Template) -> bool:
    return template.metadata.is_owned_by(model.metadata.uid)


def is_outdated(template: Template, parameters: RuntimeParameters) -> bool:
    return template.spec is not None and custom_templates.must_be_made_anew(template.spec, parameters)


def status(model: Model, view: View, judgement: Judgement) -> AIMModelStatus:
    return msgspec.structs.replace(
        models.status(model, view.seen.inspection, view.on),
        resolved_runtime_config=view.seen.config.reference,
        status=judgement.status,
    )


def wakes(cluster: Cluster, informer: Informer[Any], templates: Informer[Any]) -> Sequence[Wake[Any]]:
    """Templates that name it, secrets and the service account it reads images with, runtime configs."""

    def secrets(model: Model) -> Iterable[tuple[str, str]]:
        namespace = model.metadata.namespace or cluster.operator_namespace
        return ((namespace, reference.name) for reference in (model.spec.image_pull_secrets if model.spec else ()))

    def accounts(model: Model) -> Iterable[tuple[str, str]]:
        namespace = model.metadata.namespace or cluster.operator_namespace
        return ((namespace, (model.spec.service_account_name if model.spec else None) or "default"),)

    by_secret, by_account = informer.store.index(secrets), informer.store.index(accounts)
    accounts_by_secret = cluster.service_accounts.store.index(
        lambda account: [(account.metadata.namespace, reference.name) for reference in account.image_pull_secrets]
    )

    def of_template(change: Change[Template]) -> Iterable[Key]:
        if change.old and change.new and visible(change.old) == visible(change.new):
            return
        for template in (change.old, change.new):
            if template and template.spec:
                yield Key(template.metadata.namespace, template.spec.model_name)

    def of_secret(change: Change[Any]) -> Iterable[Key]:
        yield from (one.metadata.key for one in by_secret[tuple(change.key)])
        for account in accounts_by_secret[tuple(change.key)]:
            yield from using(account.metadata.key)

    def of_account(change: Change[ServiceAccount]) -> Iterable[Key]:
        if change.old and change.new and change.old.image_pull_secrets == change.new.image_pull_secrets:
            return ()
        return using(change.key)

    def using(account: Key) -> Iterable[Key]:
        return (one.metadata.key for one in by_account[tuple(account)])

    return (
        Wake(templates, of_template),
        Wake(cluster.secrets, of_secret),
        Wake(cluster.service_accounts, of_account),
        *configs.wakes(informer, cluster, lambda one: one.spec.runtime_config_name if one.spec else None),
    )


def visible(template: Template) -> tuple[Any, ...]:
    """What a model can see of its template."""
    return template.metadata.labels, template.metadata.owner_references, template.spec, models.word(template)


MODELS = Concept(
    kind=AIMModel,
    controller="model",
    fetch=fetch,
    observe=observe,
    plan=plan,
    status=status,
    blank=AIMModelStatus,
    wakes=lambda cluster: wakes(cluster, cluster.models, cluster.templates),
)
CLUSTER_MODELS = Concept(
    kind=AIMClusterModel,
    controller="cluster-model",
    fetch=fetch,
    observe=observe,
    plan=plan,
    status=status,
    blank=AIMModelStatus,
    wakes=lambda cluster: wakes(cluster, cluster.cluster_models, cluster.cluster_templates),
)
