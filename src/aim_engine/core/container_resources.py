"""CPU, memory and GPUs of an inference container."""

from collections.abc import Mapping, Sequence

from aim_engine.api import names, quantity
from aim_engine.api.environment import ResourceRequirements
from aim_engine.api.hardware import CpuRequirements, GpuRequirements, HardwareRequirements

CPU_PER_GPU = 4
MEMORY_PER_GPU = 32
MEMORY_LIMIT_PER_GPU = 48
ORDINARY = ("cpu", "memory", "ephemeral-storage")

Amounts = dict[str, int | str]


def build(
    hardware: HardwareRequirements | None, levels: Mapping[str, ResourceRequirements | None]
) -> dict[str, Amounts]:
    """What the container requests and may use at most: by its hardware, then each level laid over it.

    Levels have the name of the object that they are written on.
    """
    hardware = hardware or HardwareRequirements()
    gpu = hardware.gpu or GpuRequirements()
    count, name = gpu.requests or 0, gpu.resource_name or names.DEFAULT_GPU_RESOURCE
    requests: Amounts = {}
    limits: Amounts = {}
    if count:
        requests = {"cpu": str(CPU_PER_GPU * count), "memory": f"{MEMORY_PER_GPU * count}Gi", name: str(count)}
        limits = {"memory": f"{MEMORY_LIMIT_PER_GPU * count}Gi", name: str(count)}
    cores = of_cpu(hardware.cpu)
    named = {name: level for name, level in levels.items() if level is not None}
    given = tuple(named.values())
    for level in (cores, *given):
        requests |= level.requests
        limits |= level.limits
    _align_devices(requests, limits, given)
    _raise_memory_limit(requests, limits, named)
    return {side: amounts for side, amounts in (("limits", limits), ("requests", requests)) if amounts}


def of_cpu(cpu: CpuRequirements | None) -> ResourceRequirements:
    """The cores that a hardware part asks for, as resources of a container."""
    if cpu is None:
        return ResourceRequirements()
    limits = {} if cpu.limits is None else {"cpu": cpu.limits}
    return ResourceRequirements(requests={"cpu": cpu.requests}, limits=limits)


def _align_devices(requests: Amounts, limits: Amounts, given: Sequence[ResourceRequirements]) -> None:
    """Kubernetes wants request and limit of a device equal: where one side was overridden, it counts for both."""
    for name in {*requests, *limits} - set(ORDINARY):
        if name.startswith("hugepages-"):
            continue
        sides = [(level.requests.get(name), level.limits.get(name)) for level in given]
        last = next((pair for pair in reversed(sides) if pair != (None, None)), None)
        if last is None:
            continue
        asked, most = last
        requests[name] = limits[name] = most if most is not None else asked if asked is not None else 0


def _raise_memory_limit(requests: Amounts, limits: Amounts, named: Mapping[str, ResourceRequirements]) -> None:
    """A limit that nobody wrote never stands below what was requested."""
    written = any("memory" in level.limits for level in named.values())
    if written or "memory" not in limits or "memory" not in requests:
        return
    try:
        wanted = quantity.parse(requests["memory"])
    except quantity.Malformed as mistake:
        writers = [name for name, level in named.items() if "memory" in level.requests]
        raise quantity.Malformed(f"resources.requests.memory of the {writers[-1]}: {mistake}") from mistake
    if wanted > quantity.parse(limits["memory"]):
        limits["memory"] = requests["memory"]
