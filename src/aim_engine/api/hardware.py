"""What one replica needs from a node, and the runtime parameters that choose a profile."""

from enum import StrEnum
from typing import Annotated, ClassVar, Final

from aim_engine.api.declare import INT32, Rule, default, doc, immutable, length, minimum
from aim_engine.api.names import DEFAULT_GPU_RESOURCE
from aim_engine.api.quantity import Quantity
from aim_engine.objects import Wire

LONGEST_GPU_MODEL: Final = 64
"""Characters of the name of a GPU model."""


class Metric(StrEnum):
    """What a deployment is optimised for."""

    LATENCY = "latency"
    THROUGHPUT = "throughput"


class Precision(StrEnum):
    """Numeric precision of the runtime."""

    AUTO = "auto"
    FP4 = "fp4"
    FP8 = "fp8"
    FP16 = "fp16"
    FP32 = "fp32"
    BF16 = "bf16"
    INT4 = "int4"
    INT8 = "int8"


class ProfileType(StrEnum):
    """How much tuning went into a profile."""

    OPTIMIZED = "optimized"
    PREVIEW = "preview"
    UNOPTIMIZED = "unoptimized"


class GpuRequirements(Wire):
    """GPUs of one replica."""

    requests: Annotated[
        int | None,
        INT32,
        doc(
            "GPUs per replica, used as request and limit. 0 steers to GPU nodes by `model` or `minVram` without"
            " taking a GPU."
        ),
        minimum(0),
    ] = None
    model: Annotated[
        str | None, doc("Use only GPUs of this model, for example MI300X."), length(at_most=LONGEST_GPU_MODEL)
    ] = None
    min_vram: Annotated[Quantity | None, doc("Use only GPUs with at least this much memory, for example 192Gi.")] = None
    resource_name: Annotated[
        str | None, doc("Extended resource to request from the node."), default(DEFAULT_GPU_RESOURCE)
    ] = None


class CpuRequirements(Wire):
    """CPU cores of one replica."""

    requests: Annotated[Quantity, doc("Cores to set aside, for example 4 or 500m; greater than 0.")]
    limits: Annotated[Quantity | None, doc("Upper bound of cores; none if absent.")] = None


MODEL_OR_VRAM = Rule(
    "!(has(self.model) && self.model != '' && has(self.minVram))",
    "model and minVram are mutually exclusive; specify either a specific GPU model OR a minimum VRAM"
    " requirement, not both",
    spec_only=True,
)
"""Not in a status: there discovery may know the model while the spec gave the memory."""

POSITIVE_CPU = Rule(
    "type(self.requests) == int ? self.requests > 0 : sign(quantity(self.requests)) > 0",
    "cpu requests must be greater than 0",
    spec_only=True,
)
"""`quantity(string(...))` would read shorter, but in a list of 16 its estimated cost is over the server's budget."""


class HardwareRequirements(Wire):
    """What one replica needs: GPUs, CPU cores or both."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule("has(self.gpu) || has(self.cpu)", "at least one of gpu or cpu must be specified"),
    )

    gpu: Annotated[
        GpuRequirements | None, doc("GPUs of one replica; absent means that it runs on CPU only."), MODEL_OR_VRAM
    ] = None
    cpu: Annotated[CpuRequirements | None, doc("CPU cores of one replica."), POSITIVE_CPU] = None


class RuntimeParameters(Wire):
    """What to optimise for and on which hardware: the parameters that choose a runtime profile."""

    metric: Annotated[
        Metric | None,
        doc(
            "What to optimise for: `latency` answers a single request soonest, `throughput` serves the most"
            " requests per second."
        ),
        immutable("metric is immutable"),
    ] = None
    precision: Annotated[
        Precision | None,
        doc("Numeric precision; `auto` leaves the choice to the runtime."),
        immutable("precision is immutable"),
    ] = None
    gpu: Annotated[
        GpuRequirements | None,
        doc("GPUs of one replica in the earlier naming; `hardware.gpu` replaces it as a whole when both are set."),
        immutable("gpu is immutable"),
    ] = None
    hardware: Annotated[
        HardwareRequirements | None,
        doc("GPUs and CPU cores of one replica."),
        immutable("hardware is immutable"),
    ] = None
