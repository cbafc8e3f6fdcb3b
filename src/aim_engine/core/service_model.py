"""Which model a service serves: by name, by image or by its own weights; found, or to be made."""

from collections.abc import Sequence

import msgspec

from aim_engine.api import quantity, reasons
from aim_engine.api.hardware import CpuRequirements, GpuRequirements, HardwareRequirements
from aim_engine.api.model import AIMClusterModel, AIMModel, Model
from aim_engine.api.service import AIMServiceSpec, InlineModel
from aim_engine.api.sources import ModelSource
from aim_engine.api.status import AIMStatus
from aim_engine.core import causes, hardware, images, naming
from aim_engine.core.health import Component
from aim_engine.core.problems import Dependency, Problem, invalid_spec, missing_upstream


class Creation(msgspec.Struct, frozen=True):
    """A model that has to be made, under this name."""

    name: str
    image: str = ""
    custom: InlineModel | None = None


class ModelChoice(msgspec.Struct, frozen=True):
    """The model of a service, and how that went."""

    component: Component
    model: Model | None = None
    creation: Creation | None = None


def wanted_name(spec: AIMServiceSpec) -> str:
    """The name of the model, if it is chosen by name; `ref` is another spelling of `name`."""
    return (spec.model.name or spec.model.ref or "").strip()


def found(model: Model) -> ModelChoice:
    """A model that is there, in whatever state."""
    state = model.status.status if model.status else None
    kind, name = type(model).__name__, model.metadata.name
    if state is AIMStatus.READY:
        return ModelChoice(_component(state, reasons.MODEL_RESOLVED, f"{kind} {name} is ready"), model)
    if state in (AIMStatus.PENDING, AIMStatus.PROGRESSING):
        return ModelChoice(_component(AIMStatus.PROGRESSING, "ModelNotReady", f"{kind} {name} is not ready yet"), model)
    if state in (AIMStatus.FAILED, AIMStatus.DEGRADED):
        said = f"{kind} {name} is in failed state{_cause(model)}"
        return ModelChoice(_component(AIMStatus.FAILED, "ModelNotReady", said), model)
    said = f"{kind} {name} status: {state or ''}".rstrip()
    return ModelChoice(_component(AIMStatus.PROGRESSING, "ModelNotReady", said), model)


def _cause(model: Model) -> str:
    """What the model itself says is wrong."""
    told = causes.first(model.status.conditions) if model.status else ""
    return f": {told}" if told else ""


def by_name(name: str, namespace: str, namespaced: AIMModel | None, everywhere: AIMClusterModel | None) -> ModelChoice:
    """The namespace's model of that name, else the cluster's."""
    model = namespaced or everywhere
    if model:
        return found(model)
    missing = missing_upstream("ModelNotFound", f'model "{name}" not found in namespace {namespace} or cluster scope')
    return _problem(missing)


def nothing_wanted() -> ModelChoice:
    """Neither a name, nor an image, nor weights: names may be blank."""
    return ModelChoice(_component(AIMStatus.PENDING, "ModelNotFound", "No model found for service"))


def by_image(image: str, namespaced: Sequence[AIMModel], everywhere: Sequence[AIMClusterModel]) -> ModelChoice:
    """The one model of that image, the namespace's before the cluster's; one has to be made if there is none."""
    local = [model for model in namespaced if not (model.spec and model.spec.model_sources)]
    shared = [model for model in everywhere if not (model.spec and model.spec.model_sources)]
    fitting: list[Model] = [*(local or shared)]
    if len(fitting) == 1:
        return found(fitting[0])
    if fitting:
        listed = ", ".join(sorted(map(_place, fitting)))
        said = f'multiple models found with the same image with image "{image}": {listed}'
        return _problem(invalid_spec("MultipleModelsFound", said))
    name = naming.model_of_image(image)
    if isinstance(name, images.InvalidImage):
        return _problem(invalid_spec("InvalidImageReference", name.message))
    said = f"Model will be created for image {image}"
    return ModelChoice(_component(AIMStatus.PENDING, "CreatingModel", said), creation=Creation(name, image=image))


def by_weights(custom: InlineModel, namespaced: Sequence[AIMModel]) -> ModelChoice:
    """The namespace's model of the same image, weights and hardware; one has to be made if there is none."""
    fitting = [model for model in sorted(namespaced, key=lambda one: one.metadata.name) if matches(model, custom)]
    if fitting:
        return found(fitting[0])
    plain = naming.custom_model(custom.base_image, custom.model_sources)
    taken = any(model.metadata.name == plain for model in namespaced)
    name = naming.custom_model(custom.base_image, custom.model_sources, custom.hardware) if taken else plain
    model_id = custom.model_sources[0].model_id if custom.model_sources else "custom-model"
    said = f"Custom model will be created for {model_id}"
    return ModelChoice(_component(AIMStatus.PENDING, "CreatingModel", said), creation=Creation(name, custom=custom))


def name_taken(creation: Creation) -> ModelChoice:
    """A model cannot be made because another has its name: somebody changed one that was made for others."""
    name, wanted = creation.name, creation.image or "these weights"
    said = f"AIMModel {name} has the name of the model for {wanted}, but is another; undo its changes or delete it"
    return ModelChoice(_component(AIMStatus.FAILED, "NameConflict", said))


def matches(model: AIMModel, custom: InlineModel) -> bool:
    """Whether a model is what a service describes; sizes and further variables do not count."""
    if model.spec is None or model.spec.image != custom.base_image:
        return False
    own = model.spec.custom.hardware if model.spec.custom else None
    return _identity(model.spec.model_sources) == _identity(custom.model_sources) and _same(own, custom.hardware)


def _identity(sources: Sequence[ModelSource]) -> list[tuple[str, str, str]]:
    return [(source.model_id, source.source_uri, naming.s3_endpoint(source)) for source in sources]


def _same(one: HardwareRequirements | None, other: HardwareRequirements | None) -> bool:
    return _comparable(one) == _comparable(other)


def _comparable(needs: HardwareRequirements | None) -> object:
    """Hardware with defaults filled in and quantities as numbers."""
    plain = hardware.canonical(needs) or HardwareRequirements()
    gpu, cpu = plain.gpu, plain.cpu
    return _gpu_facts(gpu), _cpu_facts(cpu)


def _gpu_facts(gpu: GpuRequirements | None) -> object:
    if gpu is None:
        return None
    vram = None if gpu.min_vram is None else quantity.parse(gpu.min_vram)
    return gpu.requests or 0, gpu.model or "", vram, gpu.resource_name or "amd.com/gpu"


def _cpu_facts(cpu: CpuRequirements | None) -> object:
    if cpu is None:
        return None
    return quantity.parse(cpu.requests), None if cpu.limits is None else quantity.parse(cpu.limits)


def _place(model: Model) -> str:
    if isinstance(model, AIMModel):
        return f"{model.metadata.namespace}/{model.metadata.name} (namespace)"
    return f"{model.metadata.name} (cluster)"


def _component(state: AIMStatus, reason: str, message: str) -> Component:
    return Component(name="Model", state=state, reason=reason, message=message, dependency=Dependency.UPSTREAM)


def _problem(problem: Problem) -> ModelChoice:
    return ModelChoice(Component(name="Model", problems=(problem,), dependency=Dependency.UPSTREAM))
