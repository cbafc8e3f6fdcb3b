"""The runtime profiles of the demo images, and which one a container is to use."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

MODEL = "AIM_DEMO_MODEL"
"""Variable with the model of this image, set by the image itself as real images have it inside."""


class NoProfile(Exception):
    """No profile is as wished; the text is a sentence that names those there are."""


class Profile(NamedTuple):
    """How the demo model runs on some GPUs. Only the pace is real: that is all that differs on a CPU."""

    gpu: str
    gpu_count: int
    precision: str
    metric: str
    tokens_per_second: int

    @property
    def id(self) -> str:
        return f"vllm-{self.gpu.lower()}-{self.precision}-tp{self.gpu_count}-{self.metric}"

    @property
    def engine_args(self) -> dict[str, Any]:
        return {"tensor-parallel-size": self.gpu_count, "tokens-per-second": self.tokens_per_second}

    def deployment(self) -> dict[str, Any]:
        """The entry of the label `recommendedDeployments`."""
        kind = "one GPU" if self.gpu_count == 1 else f"{self.gpu_count} GPUs"
        return {
            "gpuModel": self.gpu,
            "gpuCount": self.gpu_count,
            "precision": self.precision,
            "metric": self.metric,
            "profileId": self.id,
            "description": f"{self.metric} on {kind}",
        }

    def as_discovered(self, model: str, size: int) -> dict[str, Any]:
        """What the dry run prints of this profile."""
        metadata = {
            "engine": "vllm",
            "gpu": self.gpu,
            "gpu_count": self.gpu_count,
            "precision": self.precision,
            "metric": self.metric,
            "type": "optimized",
        }
        return {
            "filename": f"{self.id}.yaml",
            "profile": {
                "model": model,
                "quantized_model": model,
                "metadata": metadata,
                "engine_args": self.engine_args,
                "env_vars": {"VLLM_USE_V1": "1"},
            },
            "models": [{"name": model, "source": f"hf://{model}", "size_gb": size / 1024**3}],
        }


PROFILES = (
    Profile("MI300X", 1, "fp8", "latency", 60),
    Profile("MI300X", 2, "fp8", "throughput", 30),
    Profile("MI325X", 1, "fp8", "latency", 80),
    Profile("MI355X", 1, "fp4", "latency", 120),
)

WISHES: Mapping[str, Callable[[Profile], str]] = {
    "AIM_PROFILE_ID": lambda profile: profile.id,
    "AIM_GPU_MODEL": lambda profile: profile.gpu,
    "AIM_GPU_COUNT": lambda profile: str(profile.gpu_count),
    "AIM_PRECISION": lambda profile: profile.precision,
    "AIM_METRIC": lambda profile: profile.metric,
}
"""Variable of a container -> what it has to equal. `auto` and nothing leave the choice to the image."""


def chosen(environment: Mapping[str, str]) -> Profile:
    """The first profile that fits all that the environment wishes."""
    wishes = {name: wish for name in WISHES if (wish := environment.get(name, "")) not in ("", "auto")}
    for profile in PROFILES:
        if all(WISHES[name](profile).lower() == wish.lower() for name, wish in wishes.items()):
            return profile
    asked = ", ".join(f"{name}={wish}" for name, wish in wishes.items())
    known = ", ".join(profile.id for profile in PROFILES)
    raise NoProfile(f"No profile of this image fits {asked}; it has {known}.")
