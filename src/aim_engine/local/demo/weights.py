"""The weights of the demo models: safetensors of a few megabytes, the same bytes on every machine."""

import hashlib
import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SHARDS = 3
SHARD_BYTES = 4 * 1024 * 1024
INDEX = "model.safetensors.index.json"
WORDS = Path(__file__).with_name("words.txt").read_text(encoding="utf-8").split()
"""One word for each value of a byte: what the demo server says is read off its weights."""


class WeightsMissing(Exception):
    """The weights of a model are not where they should be; the text is a sentence for people."""


def contents(model: str) -> dict[str, bytes]:
    """The repository of a demo model: file name -> content."""
    names = [f"model-{number:05}-of-{SHARDS:05}.safetensors" for number in range(1, SHARDS + 1)]
    parts = {_tensor(name): name for name in names}
    return {
        "config.json": _json({"architectures": ["DemoForCausalLM"], "model_type": "demo", "vocab_size": len(WORDS)}),
        "tokenizer.json": _json({"version": "1.0", "model": {"type": "WordLevel", "vocab": WORDS}}),
        INDEX: _json({"metadata": {"total_size": SHARDS * SHARD_BYTES}, "weight_map": parts}),
        **{name: _shard(model, name) for name in names},
    }


def _tensor(name: str) -> str:
    return f"model.layers.{int(name.split('-')[1]) - 1}.weight"


def _shard(model: str, name: str) -> bytes:
    described = {_tensor(name): {"dtype": "U8", "shape": [SHARD_BYTES], "data_offsets": [0, SHARD_BYTES]}}
    header = json.dumps(described).encode()
    return struct.pack("<Q", len(header)) + header + hashlib.shake_256(f"{model}/{name}".encode()).digest(SHARD_BYTES)


def _json(content: dict[str, Any]) -> bytes:
    return f"{json.dumps(content, indent=1)}\n".encode()


class Weights:
    """The weights of a model as a server has them: checked, summed up, and ready to be read."""

    def __init__(self, folder: Path, model: str) -> None:
        """Read them; WeightsMissing says what is not there."""
        self.model = model
        self._data = b"".join(file.read_bytes() for file in _files(folder, model))
        self.checksum = hashlib.sha256(self._data).hexdigest()
        tokenizer = json.loads(_existing(folder, model, "tokenizer.json").read_text(encoding="utf-8"))
        self._words: list[str] = tokenizer["model"]["vocab"]

    @property
    def size(self) -> int:
        return len(self._data)

    def say(self, prompt: str, count: int = 12) -> str:
        """A sentence of `count` words off the place in the weights to which the prompt points."""
        place = int.from_bytes(hashlib.sha256(prompt.encode()).digest()[:8], "big") % (len(self._data) - count)
        words = " ".join(self._words[value] for value in self._data[place : place + count])
        return f"{words.capitalize()}. (weights {self.checksum[:12]})"


def _files(folder: Path, model: str) -> Iterator[Path]:
    index = json.loads(_existing(folder, model, INDEX).read_text(encoding="utf-8"))
    for name in sorted(set(index["weight_map"].values())):
        yield _existing(folder, model, name)


def _existing(folder: Path, model: str, name: str) -> Path:
    if not (folder / name).is_file():
        raise WeightsMissing(
            f"The weights of {model} are not at {folder}: {name} is missing. "
            "This image downloads nothing; it needs a volume with the weights there."
        )
    return folder / name
