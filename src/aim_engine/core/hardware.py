"""What one replica needs: which of two spellings counts, how levels are merged, and how it reads."""

import msgspec

from aim_engine.api import names, quantity
from aim_engine.api.hardware import CpuRequirements, GpuRequirements, HardwareRequirements, RuntimeParameters
from aim_engine.core import merge


def effective(parameters: RuntimeParameters) -> HardwareRequirements | None:
    """What counts of `gpu` and `hardware`: `hardware.gpu` replaces `gpu` as a whole."""
    hardware = parameters.hardware or HardwareRequirements()
    return _unless_empty(HardwareRequirements(gpu=hardware.gpu or parameters.gpu, cpu=hardware.cpu))


def merged(lower: HardwareRequirements | None, higher: HardwareRequirements | None) -> HardwareRequirements | None:
    """Every field the higher level writes, an explicit 0 too, and the lower level's for the rest.

    A model and a minimum of memory exclude each other: the one of the higher level drops the other's.
    """
    lower, higher = lower or HardwareRequirements(), higher or HardwareRequirements()
    gpu, cpu = _one_restriction(_merged_gpu(lower.gpu, higher.gpu)), _merged_cpu(lower.cpu, higher.cpu)
    return canonical(_unless_empty(HardwareRequirements(gpu=gpu, cpu=cpu)))


def resolved(
    asked: HardwareRequirements | None, found_count: int | None = None, found_model: str | None = None
) -> HardwareRequirements | None:
    """What services will use: the count and model that discovery found, else those the spec asks for."""
    asked = asked or HardwareRequirements()
    gpu = asked.gpu or GpuRequirements()
    count = gpu.requests if found_count is None else found_count
    model = found_model or gpu.model or None
    known = bool(count) or bool(model) or bool(gpu.resource_name)
    # As the schema fills it in: a status that differs from what is stored would be written in every pass.
    resource = gpu.resource_name or names.DEFAULT_GPU_RESOURCE
    together = msgspec.structs.replace(gpu, requests=count, model=model, resource_name=resource) if known else None
    return canonical(_unless_empty(HardwareRequirements(gpu=together, cpu=asked.cpu)))


def canonical(hardware: HardwareRequirements | None) -> HardwareRequirements | None:
    """The same with its quantities in the form the API server prints."""
    if hardware is None:
        return None
    gpu, cpu = hardware.gpu, hardware.cpu
    if gpu and gpu.min_vram is not None:
        gpu = msgspec.structs.replace(gpu, min_vram=quantity.canonical(gpu.min_vram))
    if cpu:
        limits = None if cpu.limits is None else quantity.canonical(cpu.limits)
        cpu = CpuRequirements(requests=quantity.canonical(cpu.requests), limits=limits)
    return HardwareRequirements(gpu=gpu, cpu=cpu)


def summary(hardware: HardwareRequirements | None) -> str:
    """For people: `2 x MI300X`, `2 x GPU`, a model alone, `CPU`, or nothing if nothing is known."""
    if hardware is None:
        return ""
    gpu = hardware.gpu or GpuRequirements()
    if gpu.requests:
        return f"{gpu.requests} x {gpu.model or 'GPU'}"
    return gpu.model or "CPU"


def _unless_empty(hardware: HardwareRequirements) -> HardwareRequirements | None:
    return hardware if hardware.gpu or hardware.cpu else None


def _merged_gpu(lower: GpuRequirements | None, higher: GpuRequirements | None) -> GpuRequirements | None:
    if lower is None or higher is None:
        return higher or lower
    # The schema fills the resource name in wherever there is a gpu: the default says nothing about what was meant.
    if higher.resource_name == names.DEFAULT_GPU_RESOURCE:
        higher = msgspec.structs.replace(higher, resource_name=None)
    higher = msgspec.structs.replace(higher, model=higher.model or None)
    if higher.model:
        lower = msgspec.structs.replace(lower, min_vram=None)
    if higher.min_vram is not None:
        lower = msgspec.structs.replace(lower, model=None)
    return merge.structs(lower, higher)


def _merged_cpu(lower: CpuRequirements | None, higher: CpuRequirements | None) -> CpuRequirements | None:
    """A limit that was written for fewer cores than are asked for now does not hold."""
    together = merge.structs(lower, higher)
    if together is None or together.limits is None or (higher and higher.limits is not None):
        return together
    fits = quantity.parse(together.limits) >= quantity.parse(together.requests)
    return together if fits else msgspec.structs.replace(together, limits=None)


def _one_restriction(gpu: GpuRequirements | None) -> GpuRequirements | None:
    """Both can only come from one object in the earlier naming; the model is the more specific one."""
    return msgspec.structs.replace(gpu, min_vram=None) if gpu and gpu.model and gpu.min_vram is not None else gpu
