"""Our quantities against the server's. An autoscaler takes any of them and stores what we call canonical."""

from tests.api_server import ApiServer

from aim_engine.api import quantity

# Left out are spellings such as `+7`, `1.` and `1E3`, which the server keeps as they are.
TEXTS = (
    *(
        "1",
        "10",
        "999",
        "1000",
        "1001",
        "1024",
        "1500",
        "100000",
        "123456789",
        "1.5",
        "0.5",
        "0.001",
        ".5",
        "1e3",
        "1e4",
    ),
    *(
        "500m",
        "1000m",
        "1500m",
        "1u",
        "1n",
        "0.1n",
        "0.0000000001",
        "1k",
        "1500k",
        "1.5k",
        "1M",
        "192G",
        "1T",
        "2P",
        "3E",
    ),
    *("512Ki", "1023Ki", "1024Ki", "1000Mi", "1.5Gi", "1.1Ki", "0.5Ki", "0.1Gi", "0.00000000001Ei", "2048Gi", "7Ei"),
    *("8Ei", "12e6", "1E-2", "15e-1", "1e+5", "1e18", "9223372036854775807"),
)


def test_the_server_writes_quantities_as_we_do(api_server: ApiServer, namespace: str) -> None:
    metrics = [
        {"type": "External", "external": {"metric": {"name": "m"}, "target": {"type": "Value", "value": text}}}
        for text in TEXTS
    ]
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "none"}
    body = {"metadata": {"name": "all"}, "spec": {"scaleTargetRef": target, "maxReplicas": 1, "metrics": metrics}}
    path = f"/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers"
    stored = [
        metric["external"]["target"]["value"] for metric in api_server.call("POST", path, body)["spec"]["metrics"]
    ]
    assert dict(zip(TEXTS, stored, strict=True)) == {text: quantity.canonical(text) for text in TEXTS}
