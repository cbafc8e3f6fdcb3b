"""The demo image: its dry run, its server, and what it says when its weights are not there."""

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer

from aim_engine.core.gpu_models import BY_NAME
from aim_engine.local.demo import profiles, publish, server, weights
from aim_engine.local.demo.profiles import PROFILES

MODEL = "demo/tiny-chat"
ASKED = {"messages": [{"role": "user", "content": "Hello"}]}
CHECKSUM = "9aa0b16b8ed82a4859e43c22a6e8c79ad99fff24e79a3719ec177dec563826b9"
"""Of the weights of demo/tiny-chat, on every machine."""


def container(command: str, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run the image's program as a container does."""
    line = [sys.executable, "-P", "-m", "aim_engine.local.demo", *command.split()]
    known = {"PATH": os.environ["PATH"], "AIM_DEMO_MODEL": MODEL, **environment}
    return subprocess.run(line, env=known, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize(
    ("wishes", "expected"),
    [
        pytest.param({}, "vllm-mi300x-fp8-tp1-latency", id="the first profile if nothing is wished"),
        pytest.param({"AIM_METRIC": "throughput"}, "vllm-mi300x-fp8-tp2-throughput", id="by metric"),
        pytest.param({"AIM_GPU_MODEL": "mi355x"}, "vllm-mi355x-fp4-tp1-latency", id="by GPU, in any spelling"),
        pytest.param({"AIM_GPU_COUNT": "2"}, "vllm-mi300x-fp8-tp2-throughput", id="by the number of GPUs"),
        pytest.param({"AIM_PRECISION": "auto"}, "vllm-mi300x-fp8-tp1-latency", id="auto is no wish"),
        pytest.param(
            {"AIM_PROFILE_ID": "vllm-mi325x-fp8-tp1-latency"}, "vllm-mi325x-fp8-tp1-latency", id="by its identifier"
        ),
    ],
)
def test_the_dry_run_prints_the_profile_that_fits(wishes: dict[str, str], expected: str) -> None:
    assert profiles.chosen(wishes).id == expected


def test_the_dry_run_prints_what_discovery_reads() -> None:
    run = container("dry-run --format=json", {"AIM_METRIC": "throughput"})
    assert run.returncode == 0, run.stderr
    (entry,) = json.loads(run.stdout)
    assert entry["profile"]["metadata"] == {
        "engine": "vllm",
        "gpu": "MI300X",
        "gpu_count": 2,
        "precision": "fp8",
        "metric": "throughput",
        "type": "optimized",
    }
    (model,) = entry["models"]
    size = sum(len(content) for content in weights.contents(MODEL).values())
    assert (model["source"], round(model["size_gb"] * 1024**3)) == (f"hf://{MODEL}", size)


def test_a_wish_that_no_profile_meets_is_told_with_those_there_are() -> None:
    run = container("dry-run", {"AIM_GPU_MODEL": "MI210"})
    assert run.returncode == 1
    assert "No profile of this image fits AIM_GPU_MODEL=MI210; it has vllm-mi300x-fp8-tp1-latency" in run.stderr


def test_the_image_recommends_its_profiles_for_gpus_that_exist() -> None:
    labels = publish.IMAGES[0].labels()
    recommended = json.loads(labels["com.amd.aim.model.recommendedDeployments"])
    assert [each["profileId"] for each in recommended] == [profile.id for profile in PROFILES]
    assert {each["gpuModel"] for each in recommended} <= set(BY_NAME)


def test_the_server_does_not_start_without_weights(tmp_path: Path) -> None:
    run = container("serve", {"AIM_CACHE_PATH": str(tmp_path)})
    assert run.returncode == 1
    assert run.stderr.startswith(f"aim: The weights of {MODEL} are not at {tmp_path / MODEL}: ")
    assert "it needs a volume with the weights there" in run.stderr


def test_the_server_does_not_start_with_a_part_of_the_weights(tmp_path: Path) -> None:
    publish.models(tmp_path)
    (tmp_path / MODEL / "model-00002-of-00003.safetensors").unlink()
    run = container("serve", {"AIM_CACHE_PATH": str(tmp_path)})
    assert run.returncode == 1
    assert "model-00002-of-00003.safetensors is missing" in run.stderr


def test_where_mounts_cannot_be_at_their_paths_the_node_says_where_they_are(tmp_path: Path) -> None:
    mounts = {f"/workspace/model-cache/{MODEL}": str(tmp_path / "volume")}
    setting = server.read({"AIM_DEMO_MODEL": MODEL, "AIM_MOUNTS": json.dumps(mounts)})
    assert setting.folder == tmp_path / "volume"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cache")
    publish.models(folder)
    return folder


@pytest.fixture
async def client(cache: Path) -> AsyncIterator[TestClient[Any, Any]]:
    """Asks a demo server with complete weights, at a pace that does not keep anybody waiting."""
    arguments = json.dumps({"tokens-per-second": 10_000, "max-model-len": 40})
    setting = server.read({"AIM_DEMO_MODEL": MODEL, "AIM_CACHE_PATH": str(cache), "AIM_ENGINE_ARGS": arguments})
    app = server.Server(setting, weights.Weights(setting.folder, setting.model)).application()
    async with TestClient(TestServer(app)) as asking:
        yield asking


async def test_answers_come_from_the_bytes_of_the_weights(client: TestClient[Any, Any]) -> None:
    answer = await (await client.post("/v1/chat/completions", json=ASKED)).json()
    (choice,) = answer["choices"]
    assert choice["message"]["content"].endswith(f"(weights {CHECKSUM[:12]})")
    assert (answer["object"], choice["finish_reason"]) == ("chat.completion", "stop")
    assert answer["usage"] == {"prompt_tokens": 2, "completion_tokens": 14, "total_tokens": 16}
    other = {"messages": [{"role": "user", "content": [{"type": "text", "text": "Something else"}]}]}
    again = await (await client.post("/v1/chat/completions", json=other)).json()
    assert again["choices"][0]["message"]["content"] != choice["message"]["content"]


async def test_the_model_list_names_the_weights(client: TestClient[Any, Any]) -> None:
    (model,) = (await (await client.get("/v1/models")).json())["data"]
    assert (model["id"], model["max_model_len"], model["weights_sha256"]) == (MODEL, 40, CHECKSUM)


@pytest.mark.parametrize(
    ("path", "question"),
    [
        pytest.param("/v1/chat/completions", ASKED, id="a chat"),
        pytest.param("/v1/completions", {"prompt": "Hello"}, id="a completion"),
    ],
)
async def test_a_stream_says_the_same_in_pieces(
    client: TestClient[Any, Any], path: str, question: dict[str, Any]
) -> None:
    whole = await (await client.post(path, json=question)).json()
    options = {"stream": True, "stream_options": {"include_usage": True}}
    streamed = await client.post(path, json={**question, **options})
    assert streamed.content_type == "text/event-stream"
    lines = [line for line in (await streamed.text()).split("\n\n") if line]
    assert lines[-1] == "data: [DONE]"
    pieces = [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]
    choices = [piece["choices"][0] for piece in pieces if piece["choices"]]
    said = "".join(each["text"] if "text" in each else each["delta"].get("content", "") for each in choices)
    expected = whole["choices"][0]
    assert said == (expected["text"] if "text" in expected else expected["message"]["content"])
    assert [each["finish_reason"] for each in choices][-1] == "stop"
    assert pieces[-1]["usage"] == whole["usage"]


async def test_an_answer_ends_at_the_most_tokens_that_are_wanted(client: TestClient[Any, Any]) -> None:
    answer = await (await client.post("/v1/completions", json={"prompt": "Hello", "max_tokens": 3})).json()
    assert (answer["choices"][0]["finish_reason"], answer["usage"]["completion_tokens"]) == ("length", 3)


@pytest.mark.parametrize(
    ("question", "status", "words"),
    [
        pytest.param({**ASKED, "model": "other"}, 404, "The model `other` does not exist.", id="another model"),
        pytest.param({}, 400, "messages", id="no messages"),
        pytest.param({**ASKED, "n": 2}, 400, "n", id="several answers at once"),
        pytest.param(
            {"messages": [{"role": "user", "content": "word " * 50}]},
            400,
            "maximum context length is 40",
            id="too long",
        ),
    ],
)
async def test_what_cannot_be_answered_is_told_as_vllm_tells_it(
    client: TestClient[Any, Any], question: dict[str, Any], status: int, words: str
) -> None:
    answer = await client.post("/v1/chat/completions", json=question)
    assert answer.status == status
    assert words in (await answer.json())["error"]["message"]


async def test_metrics_have_the_names_of_vllm(client: TestClient[Any, Any]) -> None:
    await client.post("/v1/chat/completions", json=ASKED)
    text = await (await client.get("/metrics")).text()
    label = f'{{model_name="{MODEL}"}}'
    for line in (
        f"vllm:num_requests_running{label} 0.0",
        f"vllm:prompt_tokens_total{label} 2.0",
        f"vllm:generation_tokens_total{label} 14.0",
        f'vllm:request_success_total{{finished_reason="stop",model_name="{MODEL}"}} 1.0',
        f"vllm:e2e_request_latency_seconds_count{label} 1.0",
        f"vllm:time_to_first_token_seconds_count{label} 1.0",
    ):
        assert line in text
    assert (await client.get("/health")).status == 200
