"""Which template a service runs by: the one it names, a derived one for its overrides, or the best there is."""

import msgspec

from aim_engine.api import names, reasons
from aim_engine.api.hardware import GpuRequirements, HardwareRequirements, RuntimeParameters
from aim_engine.api.service import AIMServiceSpec
from aim_engine.api.status import AIMStatus, ResolvedReference
from aim_engine.api.template import Template
from aim_engine.core import causes, hardware, naming, selection
from aim_engine.core.health import Component
from aim_engine.core.problems import Dependency, missing_upstream
from aim_engine.core.selection import Choice, Outcome


class Derivation(msgspec.Struct, frozen=True):
    """A template that has to be derived from a base, under this name."""

    name: str
    base: Template


class TemplateChoice(msgspec.Struct, frozen=True):
    """The template of a service, and how that went."""

    component: Component
    template: Template | None = None
    derivation: Derivation | None = None
    selection: Choice | None = None

    @property
    def usable(self) -> Template | None:
        """The template, if it is ready to be run by."""
        ready = self.template and self.template.status and self.template.status.status is AIMStatus.READY
        return self.template if ready else None


def final_name(base: str, spec: AIMServiceSpec) -> str:
    """The name of the template with this service's overrides; the base itself without any."""
    return naming.overridden_template(base, spec.overrides)


def found(template: Template, chosen: Choice | None = None) -> TemplateChoice:
    """A template that is there, in whatever state."""
    state = template.status.status if template.status else None
    kind, name = type(template).__name__, template.metadata.name
    if state is AIMStatus.READY:
        component = _component(AIMStatus.READY, reasons.RESOLVED, f"{kind} {name} is ready")
    elif state is AIMStatus.NOT_AVAILABLE:
        said = f"{kind} {name} is not available (no matching GPUs){_cause(template)}"
        component = _component(AIMStatus.NOT_AVAILABLE, "TemplateNotReady", said)
    elif state in (AIMStatus.FAILED, AIMStatus.DEGRADED):
        said = f"{kind} {name} is in failed state{_cause(template)}"
        component = _component(AIMStatus.FAILED, "TemplateNotReady", said)
    elif is_derived(template):
        component = _being_created(name)
    else:
        component = _component(AIMStatus.PROGRESSING, "TemplateNotReady", f"{kind} {name} is not ready yet")
    return TemplateChoice(component, template, selection=chosen)


def is_derived(template: Template) -> bool:
    """Whether a template was made for the overrides of a service."""
    return template.metadata.labels.get(names.LABEL_ORIGIN) == names.ORIGIN_DERIVED


def _being_created(name: str) -> Component:
    return _component(AIMStatus.PROGRESSING, "TemplateNotReady", f"Derived template {name} is being created")


def _cause(template: Template) -> str:
    """What the template itself says is wrong."""
    told = causes.first(template.status.conditions) if template.status else ""
    return f": {told}" if told else ""


def missing(name: str) -> TemplateChoice:
    """A template that was named and is not there."""
    problem = missing_upstream("TemplateNotFound", f'template "{name}" not found')
    return TemplateChoice(Component(name="Template", problems=(problem,), dependency=Dependency.UPSTREAM))


def derive(name: str, base: Template, chosen: Choice | None = None) -> TemplateChoice:
    """The overrides ask for a template that does not exist yet: it is derived once its base is ready."""
    if is_derived(base):
        said = (
            f"{type(base).__name__} {base.metadata.name} was itself derived from another for the overrides of a"
            " service; make the service anew with that other template, or without overrides"
        )
        return TemplateChoice(_component(AIMStatus.FAILED, "TemplateNotReady", said), selection=chosen)
    of_base = found(base, chosen)
    if of_base.usable is None:
        return TemplateChoice(of_base.component, selection=chosen)
    return TemplateChoice(_being_created(name), derivation=Derivation(name, base), selection=chosen)


def unresolved_model() -> TemplateChoice:
    """Without a model nothing can be selected."""
    return TemplateChoice(_component(AIMStatus.PENDING, "TemplateNotFound", "No template found for service"))


def none_selected(chosen: Choice, model: str) -> TemplateChoice:
    """Why the automatic choice found nothing, with the nearest miss."""
    state, reason, said = _WHY[chosen.outcome]
    filtered = chosen.counts.get(selection.UNOPTIMIZED, 0)
    tied = sum(1 for verdict in chosen.verdicts if not verdict.reason)
    message = said.format(model=model, filtered=filtered, tied=tied)
    return TemplateChoice(_component(state, reason, message + _explanation(chosen)), selection=chosen)


_WHY = {
    Outcome.NO_CANDIDATES: (AIMStatus.PENDING, "TemplateNotFound", 'No templates found for model "{model}"'),
    Outcome.NOT_READY: (AIMStatus.PROGRESSING, "TemplateNotReady", "Templates exist but are not ready yet"),
    Outcome.ONLY_UNOPTIMIZED: (
        AIMStatus.PENDING,
        "TemplateNotFound",
        'No available templates match requirements for model "{model}": {filtered} unoptimized template(s) filtered'
        " out. Set allowUnoptimized to use them.",
    ),
    Outcome.NO_MATCH: (
        AIMStatus.PENDING,
        "TemplateNotFound",
        'No available templates match requirements for model "{model}"',
    ),
    Outcome.AMBIGUOUS: (
        AIMStatus.FAILED,
        "TemplateSelectionAmbiguous",
        'Multiple templates ({tied}) satisfy model "{model}"',
    ),
}


def _explanation(chosen: Choice) -> str:
    """Counts per reason and the nearest miss, where they tell more than the sentence before."""
    if chosen.outcome is Outcome.AMBIGUOUS:
        return f": {', '.join(verdict.template for verdict in chosen.verdicts if not verdict.reason)}"
    if chosen.outcome in (Outcome.NO_CANDIDATES, Outcome.ONLY_UNOPTIMIZED) or not chosen.nearest:
        return ""
    counts = ", ".join(f"{count} {reason}" for reason, count in chosen.counts.items())
    return f": {counts}; nearest {chosen.nearest}"


def open_wishes(template: Template, overrides: RuntimeParameters | None) -> bool:
    """Whether the overrides demand what a chosen template leaves open, so that one has to be derived from it."""
    if overrides is None:
        return False
    asked = hardware.canonical(hardware.effective(overrides)) or HardwareRequirements()
    given = hardware.canonical(hardware.effective(template.spec) if template.spec else None) or HardwareRequirements()
    have, gpu = selection.traits(template), asked.gpu or GpuRequirements()
    resource = (given.gpu.resource_name if given.gpu else None) or names.DEFAULT_GPU_RESOURCE
    return bool(
        (asked.cpu is not None and asked.cpu != given.cpu)
        or (gpu.requests is not None and not have.gpu_count)
        or (gpu.model and not have.gpu)
        or (gpu.min_vram is not None and not have.gpu)
        or (gpu.resource_name not in (None, "", names.DEFAULT_GPU_RESOURCE, resource))
    )


def kept(reference: ResolvedReference) -> Component:
    """A running service whose template went: it goes on by the one it was given."""
    return _component(AIMStatus.READY, reasons.RESOLVED, f"{reference.scope} {reference.name} is ready")


def _component(state: AIMStatus, reason: str, message: str) -> Component:
    return Component(name="Template", state=state, reason=reason, message=message, dependency=Dependency.UPSTREAM)
