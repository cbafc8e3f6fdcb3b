"""Which model a service serves and by which template: what was found before, else what it asks for, else the best."""

from typing import TypeVar

from aim_engine.api.model import Model
from aim_engine.api.status import AIMStatus, ResolutionScope, ResolvedReference
from aim_engine.api.template import Template
from aim_engine.controllers.cluster import Cluster
from aim_engine.core import naming, selection, service_model, service_template
from aim_engine.core.problems import Problem
from aim_engine.core.selection import Outcome
from aim_engine.core.service import Service
from aim_engine.core.service_model import ModelChoice
from aim_engine.core.service_template import TemplateChoice
from aim_engine.kube.informer import Informer
from aim_engine.objects import Key

N = TypeVar("N", bound=Model | Template)
C = TypeVar("C", bound=Model | Template)


def find_model(service: Service, cluster: Cluster) -> ModelChoice:
    """The model: the one found before while it is ready, else by name, image or weights."""
    namespace, wanted = service.metadata.namespace, service.spec.model
    before = service.status.resolved_model
    if sticky := still_ready(before, namespace, cluster.models, cluster.cluster_models):
        return service_model.found(sticky)
    if name := service_model.wanted_name(service.spec):
        namespaced = cluster.models.store.get(Key(namespace, name))
        return service_model.by_name(name, namespace, namespaced, cluster.cluster_models.store.get(Key("", name)))
    if wanted.image is not None:
        image = wanted.image.strip()
        choice = service_model.by_image(
            image, cluster.models_by_image[namespace, image], cluster.cluster_models_by_image[image]
        )
    elif wanted.custom is not None:
        choice = service_model.by_weights(wanted.custom, cluster.models.store.in_namespace(namespace))
    else:
        return service_model.nothing_wanted()
    made = choice.creation
    return service_model.name_taken(made) if made and Key(namespace, made.name) in cluster.models.store else choice


def find_template(service: Service, model: Model | None, cluster: Cluster) -> TemplateChoice:
    """The template: the one found before while it is ready, else the one named, else the best there is."""
    before = service.status.resolved_template
    if sticky := still_ready(before, service.metadata.namespace, cluster.templates, cluster.cluster_templates):
        return service_template.found(sticky)
    wanted = service.spec.template
    named = wanted.name.strip() if wanted and wanted.name else ""
    if not named and model and model.spec and model.spec.default_service_template:
        fallback = model.spec.default_service_template
        named = fallback if template_named(fallback, service, cluster) else ""
    if named:
        return explicit_template(service, named, cluster)
    return selected_template(service, model, cluster)


def still_ready(
    before: ResolvedReference | None, namespace: str, namespaced: Informer[N], of_cluster: Informer[C]
) -> N | C | None:
    """What an earlier pass resolved to, if it is still there and ready."""
    if before is None or not before.name:
        return None
    if before.scope is ResolutionScope.NAMESPACE:
        found = namespaced.store.get(Key(namespace, before.name))
    else:
        found = of_cluster.store.get(Key("", before.name))
    return found if found and found.status and found.status.status is AIMStatus.READY else None


def template_named(name: str, service: Service, cluster: Cluster) -> Template | None:
    """The namespace's template of a name, else the cluster's."""
    namespaced = cluster.templates.store.get(Key(service.metadata.namespace, name))
    return namespaced or cluster.cluster_templates.store.get(Key("", name))


def explicit_template(service: Service, name: str, cluster: Cluster) -> TemplateChoice:
    """The template a service names, with its overrides if it has any."""
    final = service_template.final_name(name, service.spec)
    if final == name:
        template = template_named(name, service, cluster)
        return service_template.found(template) if template else service_template.missing(name)
    if derived := cluster.templates.store.get(Key(service.metadata.namespace, final)):
        return service_template.found(derived)
    base = template_named(name, service, cluster)
    return service_template.derive(final, base) if base else service_template.missing(name)


def selected_template(service: Service, model: Model | None, cluster: Cluster) -> TemplateChoice:
    """The best template for the model, the overrides and the cluster's GPUs."""
    if model is None:
        return or_kept(service, service_template.unresolved_model(), cluster)
    spec, name = service.spec, model.metadata.name
    candidates = [*cluster.templates_of(Key(service.metadata.namespace, name)), *cluster.templates_of(Key("", name))]
    wish = selection.Wish(
        *([spec.overrides] if spec.overrides else []),
        allow_unoptimized=bool(spec.template and spec.template.allow_unoptimized),
    )
    choice = selection.choose(candidates, wish, cluster.gpus)
    if choice.template is None:
        return or_kept(service, service_template.none_selected(choice, name), cluster)
    final = service_template.final_name(choice.template.metadata.name, spec)
    if service_template.open_wishes(choice.template, spec.overrides):
        derived = cluster.templates.store.get(Key(service.metadata.namespace, final))
        return (
            service_template.found(derived, choice)
            if derived
            else service_template.derive(final, choice.template, choice)
        )
    return service_template.found(choice.template, choice)


def or_kept(service: Service, choice: TemplateChoice, cluster: Cluster) -> TemplateChoice:
    """A service that runs goes on by the template it was given when nothing else can be selected."""
    outcome = choice.selection.outcome if choice.selection else None
    before = service.status.resolved_template
    if before is None or outcome in (Outcome.NOT_READY, Outcome.AMBIGUOUS):
        return choice
    name = naming.inference_service(service.metadata.name, service.metadata.namespace)
    if isinstance(name, Problem) or Key(service.metadata.namespace, name) not in cluster.inference_services.store:
        return choice
    return TemplateChoice(service_template.kept(before), selection=choice.selection)
