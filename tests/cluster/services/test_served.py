"""One manifest becomes a served model: the real KServe makes the pods, and a gateway leads to them."""

import pytest
from tests.api_server import ApiServer
from tests.cluster.asking import ask_until, stream
from tests.cluster.operator.stage import until
from tests.cluster.services.serving import FILES, Serving, chat, condition

pytestmark = pytest.mark.usefixtures("operator", "node", "kserve", "gateway", "status_updaters")


def test_a_service_by_model_name_runs_and_answers_through_the_gateway(serving: Serving, gateway: str) -> None:
    serving.gateway()
    serving.template()
    serving.service("chat", routing=serving.routing(requestTimeout="5m"))
    running = serving.until_status("chat", "Running")

    path = running["status"]["routing"]["path"]
    assert path == f"/{serving.namespace}/chat"
    assert {one["type"] for one in running["status"]["conditions"] if one["status"] != "True"} == set()
    assert condition(running, "InferenceServicePodsReady")["status"] == "True"

    answer = chat(gateway, path, "hello").content
    assert answer["choices"][0]["message"]["content"] == "hello"
    assert answer["model"] == "acme/tiny"
    assert set(FILES) <= set(answer["weights"]), "the pods have the weights that the hub has"
    talk = {"messages": [{"role": "user", "content": "hello"}], "stream": True}
    assert len([line for _, line in stream(gateway, f"{path}/v1/chat/completions", talk) if line]) == 4

    serving.server.call("DELETE", serving.ours("aimservices", "chat"))
    serving.server.wait_until(serving.inference_services(), lambda found: found["items"] == [])
    ask_until(gateway, f"{path}/health", 404)


def test_a_namespace_with_a_running_service_goes_away_at_once(serving: Serving, api_server: ApiServer) -> None:
    serving.gateway()
    serving.template()
    serving.service("chat", routing=serving.routing(), caching={"mode": "Dedicated"})
    serving.until_status("chat", "Running")
    path = f"/api/v1/namespaces/{serving.namespace}"
    api_server.call("DELETE", path)
    until(lambda: api_server.request("GET", path)[0] == 404, "the namespace is gone")
    api_server.call("POST", "/api/v1/namespaces", {"metadata": {"name": serving.namespace}})  # the fixture deletes it
