"""Every AMD GPU the product knows: the one table of device ids, memory and preference."""

from typing import NamedTuple

LAST_TIER = 8
"""Shared by all models without a place of their own in the order of preference."""


class GpuModel(NamedTuple):
    """One model as AMD's node labeller tells it: PCI device ids in lower case, memory in GiB."""

    name: str
    tier: int
    """1 is preferred most; within a tier the order of the table decides."""
    device_ids: tuple[str, ...]
    vram: int


MODELS = (
    GpuModel("MI355X", 1, ("75a3", "75b3"), 288),
    GpuModel("MI350X", 2, ("75a0", "75b0"), 288),
    GpuModel("MI325X", 3, ("74a5", "74b9"), 256),
    GpuModel("MI300X", 4, ("74a1", "74a9", "74b5", "74bd"), 192),
    GpuModel("MI308X", 4, ("74a2", "74a8", "74b6"), 192),
    GpuModel("MI300A", 5, ("74a0",), 128),
    GpuModel("MI250X", 6, ("7408", "740c"), 128),
    GpuModel("MI210", 7, ("740f", "7410"), 64),
    GpuModel("MI100", LAST_TIER, ("738c", "738e"), 32),
    GpuModel("V710", LAST_TIER, ("7460", "7461"), 32),
    GpuModel("W7900", LAST_TIER, ("7448", "744a"), 48),
    GpuModel("W7800", LAST_TIER, ("7449", "745e"), 32),
    GpuModel("W6900X", LAST_TIER, ("73a2",), 32),
    GpuModel("W6800", LAST_TIER, ("73a3",), 32),
    GpuModel("W6800X", LAST_TIER, ("73ab",), 32),
    GpuModel("V620", LAST_TIER, ("73a1", "73ae"), 32),
    GpuModel("RX9070", LAST_TIER, ("7550",), 16),
    GpuModel("RX7900", LAST_TIER, ("744c",), 24),
    GpuModel("RX6900", LAST_TIER, ("73af",), 16),
    GpuModel("RX6800", LAST_TIER, ("73bf",), 16),
)

BY_NAME = {model.name: model for model in MODELS}
BY_DEVICE_ID = {device_id: model for model in MODELS for device_id in model.device_ids}
