"""Whether the cluster has the GPUs a template needs, and on which nodes its pods may run."""

from typing import Final

from aim_engine.api import quantity, reasons
from aim_engine.api.hardware import GpuRequirements, RuntimeParameters
from aim_engine.api.placement import NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from aim_engine.api.status import AIMStatus
from aim_engine.core import gpus, hardware
from aim_engine.core.health import Component
from aim_engine.core.node_gpus import DEVICE_ID_KEYS, GI, Inventory, Selector
from aim_engine.core.problems import Category, Failure, Problem, of_failure

_COMPONENT = "GPU"
_PLAIN_KEY: Final = DEVICE_ID_KEYS[0]


def wanted(parameters: RuntimeParameters) -> GpuRequirements | None:
    """The GPUs that a template asks for, however it spells that."""
    asked = hardware.effective(parameters)
    return asked.gpu if asked else None


def is_required(gpu: GpuRequirements | None) -> bool:
    """Whether it takes a GPU at all: one is asked for, or a model or its memory is."""
    return gpu is not None and (bool(gpu.requests) or bool(_model(gpu)) or gpu.min_vram is not None)


def inspect(gpu: GpuRequirements | None, offered: Inventory | Failure) -> Component | None:
    """The component for what is needed and what is offered, or why that is not known; None if no GPU is needed."""
    if gpu is None or not is_required(gpu):
        return None
    if isinstance(offered, Failure):
        problem = Problem(Category.INFRASTRUCTURE, "GPUCheckFailed", of_failure(offered).message)
        return Component(name=_COMPONENT, state=AIMStatus.DEGRADED, problems=(problem,))
    if missing := _missing(gpu, offered):
        reason, message = missing
        return Component(name=_COMPONENT, state=AIMStatus.NOT_AVAILABLE, reason=reason, message=message)
    return Component(name=_COMPONENT, state=AIMStatus.READY, reason="GPUAvailable", message=_available(gpu, offered))


def affinity(gpu: GpuRequirements | None, offered: Inventory) -> NodeAffinity | None:
    """Nodes with the GPU that is needed; None if any will do, or no label leads to it.

    The table's ids on the plain key are one term. Nodes that say it in another way are reached by terms of their own.
    """
    if gpu is None or not is_required(gpu):
        return None
    models = _wanted_models(gpu, offered)
    ids = {device_id for model in models if (entry := gpus.known(model)) for device_id in entry.device_ids}
    selectors = {selector for model in models if model in offered for selector in offered[model].selectors}
    values: dict[str, set[str]] = {_PLAIN_KEY: ids} if ids else {}
    for selector in selectors:
        if selector.value is not None:
            values.setdefault(selector.key, set(ids) if selector.key in DEVICE_ID_KEYS else set()).add(selector.value)
    terms = [_one_of(key, sorted(values[key])) for key in sorted(values)]
    terms += [_present(selector) for selector in sorted(s for s in selectors if s.value is None)]
    if not terms:
        return None
    return NodeAffinity(
        required_during_scheduling_ignored_during_execution=NodeSelector(node_selector_terms=tuple(terms))
    )


def _model(gpu: GpuRequirements) -> str:
    return (gpu.model or "").strip()


def _enough(gpu: GpuRequirements, offered: Inventory) -> Inventory:
    if gpu.min_vram is None:
        return offered
    least = quantity.parse(gpu.min_vram)
    return {model: offer for model, offer in offered.items() if offer.vram >= least}


def _wanted_models(gpu: GpuRequirements, offered: Inventory) -> list[str]:
    if model := _model(gpu):
        return [gpus.normalised(model)]
    return sorted(_enough(gpu, offered)) if gpu.min_vram is not None else []


def _missing(gpu: GpuRequirements, offered: Inventory) -> tuple[str, str] | None:
    enough, model = _enough(gpu, offered), _model(gpu)
    if gpu.min_vram is not None and not enough:
        return reasons.VRAM_NOT_AVAILABLE, _too_little(gpu.min_vram, offered)
    if not model:
        return None if offered else (reasons.GPU_NOT_AVAILABLE, "No GPUs available in cluster")
    name = gpus.normalised(model)
    if name not in offered:
        return (
            reasons.GPU_NOT_AVAILABLE,
            f"Required GPU model '{model}' not available in cluster. Available: {', '.join(sorted(offered)) or 'none'}",
        )
    if gpu.min_vram is not None and name not in enough:
        return reasons.VRAM_NOT_AVAILABLE, _too_little(gpu.min_vram, {name: offered[name]})
    return None


def _too_little(least: int | str, offered: Inventory) -> str:
    best = max(offered, key=lambda model: (offered[model].vram, model), default=None)
    highest = f"{best} ({_gi(offered[best].vram)})" if best and offered[best].vram else "none detected"
    wanted = _gi(int(quantity.parse(least)))
    return f"Required minimum VRAM ({wanted}) exceeds available GPUs. Highest available: {highest}"


def _available(gpu: GpuRequirements, offered: Inventory) -> str:
    if model := _model(gpu):
        return f"GPU model '{gpus.normalised(model)}' is available"
    return f"GPU available (any model accepted): {', '.join(sorted(_enough(gpu, offered)))}"


def _gi(number: int) -> str:
    return f"{round(number / GI, 1):g}Gi"


def _one_of(key: str, values: list[str]) -> NodeSelectorTerm:
    return NodeSelectorTerm(match_expressions=(NodeSelectorRequirement(key=key, operator="In", values=tuple(values)),))


def _present(selector: Selector) -> NodeSelectorTerm:
    return NodeSelectorTerm(match_expressions=(NodeSelectorRequirement(key=selector.key, operator="Exists"),))
