"""What the operator shows of itself: probes, metrics to those who may read them, log lines, an orderly end."""

import json
import signal
import socket
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from cryptography import x509
from tests.api_server import ApiServer
from tests.cluster.conftest import free_port
from tests.cluster.operator.stage import REAL, Operator, artifact, config, create, is_seen, plural, until
from tests.web.pairs import write_pair

from aim_engine.local.control_plane import Cluster

PROMISED = """
controller_runtime_reconcile_total{controller="artifact",result="success"}
controller_runtime_reconcile_total{controller="artifact",result="error"}
controller_runtime_reconcile_total{controller="artifact",result="requeue"}
controller_runtime_reconcile_total{controller="artifact",result="requeue_after"}
controller_runtime_reconcile_errors_total{controller="artifact"}
controller_runtime_reconcile_time_seconds_bucket{controller="artifact",le="0.005"}
controller_runtime_active_workers{controller="artifact"}
controller_runtime_max_concurrent_reconciles{controller="artifact"} 8.0
workqueue_depth{controller="artifact",name="artifact"}
workqueue_adds_total{controller="artifact",name="artifact"}
workqueue_queue_duration_seconds_bucket{controller="artifact",le="1e-05",name="artifact"}
workqueue_work_duration_seconds_bucket{controller="artifact",le="1e-05",name="artifact"}
workqueue_unfinished_work_seconds{controller="artifact",name="artifact"}
workqueue_longest_running_processor_seconds{controller="artifact",name="artifact"}
workqueue_retries_total{controller="artifact",name="artifact"}
leader_election_master_status{name="3be10d2f.eai.amd.com"} 1.0
rest_client_requests_total{code="200",host="%HOST%",method="GET"}
kube_api_calls_total{code="200",resource="aimartifacts.aim.eai.amd.com",verb="list"}
kube_api_call_duration_seconds_bucket{le="0.005",resource="aimartifacts.aim.eai.amd.com",verb="list"}
""".strip().splitlines()
EVERY_LINE = {"level", "ts", "logger", "msg"}
EVERY_PASS = EVERY_LINE | {"controller", "controllerKind", "namespace", "name", "reconcileID"}


class Stage(NamedTuple):
    """One operator with guarded metrics, and the directory of its certificate."""

    operator: Operator
    metrics: str
    certificates: Path
    namespace: str


@pytest.fixture(scope="module")
def stage(own_cluster: Cluster, own_server: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    directory, port, namespace = tmp_path_factory.mktemp("operator"), free_port(), "metrics-readers"
    write_pair(directory, "before")
    own_server.call("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    flags = (f"--metrics-bind-address=127.0.0.1:{port}", f"--metrics-cert-path={directory}", "-leader-elect")
    with Operator(own_cluster.kubeconfig, directory, *flags, AIM_SYSTEM_NAMESPACE=namespace) as operator:
        operator.wait_ready()
        operator.wait_line(msg="became leader")
        yield Stage(operator, f"https://127.0.0.1:{port}/metrics", directory, namespace)


def token(server: ApiServer, namespace: str, account: str) -> str:
    """A token of a new service account."""
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    server.call("POST", path, {"metadata": {"name": account}})
    return server.call("POST", f"{path}/{account}/token", {"spec": {"expirationSeconds": 600}})["status"]["token"]


def allow(server: ApiServer, namespace: str, account: str) -> None:
    """Let a service account read metrics."""
    roles = "/apis/rbac.authorization.k8s.io/v1"
    rules = [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
    server.call("POST", f"{roles}/clusterroles", {"metadata": {"name": account}, "rules": rules})
    binding = {
        "metadata": {"name": account},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": account},
        "subjects": [{"kind": "ServiceAccount", "namespace": namespace, "name": account}],
    }
    server.call("POST", f"{roles}/clusterrolebindings", binding)
    until(lambda: server.may(f"system:serviceaccount:{namespace}:{account}", "/metrics"), "the account may read")


def scrape(address: str, bearer: str | None) -> tuple[int, str]:
    """The answer to one scrape; who serves is not verified, as scrapers of self-signed certificates do."""
    tls = ssl.create_default_context()
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    request = urllib.request.Request(address, headers={"Authorization": f"Bearer {bearer}"} if bearer else {})
    try:
        with urllib.request.urlopen(request, context=tls, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code, refusal.read().decode()


def test_metrics_are_for_tokens_that_may_read_them(own_server: ApiServer, own_cluster: Cluster, stage: Stage) -> None:
    stranger, scraper = (token(own_server, stage.namespace, name) for name in ("stranger", "scraper"))
    allow(own_server, stage.namespace, "scraper")
    assert scrape(stage.metrics, None)[0] == 401
    assert scrape(stage.metrics, "made-up")[0] == 401
    assert scrape(stage.metrics, stranger)[0] == 403
    status, text = scrape(stage.metrics, scraper)
    assert status == 200
    assert missing(text, own_cluster) == []
    assert "# TYPE kube_watch_restarts_total counter" in text


def missing(text: str, cluster: Cluster) -> list[str]:
    """The promised metrics that a scrape does not have."""
    host = cluster.server.removeprefix("https://")
    promised = [line.replace("%HOST%", host) for line in PROMISED]
    return [line for line in promised if not any(one.startswith(line) for one in text.splitlines())]


def test_a_rotated_certificate_is_taken_up(stage: Stage) -> None:
    assert shown(stage.metrics) == "before"
    write_pair(stage.certificates, "after")
    assert shown(stage.metrics) == "after"


def shown(address: str) -> str:
    port = int(address.rpartition(":")[2].partition("/")[0])
    pem = ssl.get_server_certificate(("127.0.0.1", port))
    subject = x509.load_pem_x509_certificate(pem.encode()).subject
    return str(subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)[0].value)


def test_a_pass_that_did_something_is_told_in_one_line(own_server: ApiServer, own_namespace: str, stage: Stage) -> None:
    create(own_server, own_namespace, config("team"))
    path = f"{plural(own_namespace, 'AIMRuntimeConfig')}/team"
    own_server.wait_until(path, is_seen)
    done = stage.operator.wait_line(namespace=own_namespace, name="team", msg="reconciled")
    assert set(done) == EVERY_PASS | {"writes"}
    assert (done["writes"], done["controller"], done["controllerKind"]) == (1, "runtime-config", "AIMRuntimeConfig")
    told = stage.operator.wait_line(namespace=own_namespace, name="team", condition="Ready")
    assert set(told) == EVERY_PASS | {"condition", "status", "reason"}
    assert told["reconcileID"] == done["reconcileID"]
    assert (told["level"], told["status"], told["reason"]) == ("info", "True", "AllComponentsReady")
    # A pass that only looks says nothing.
    seen = own_server.call("GET", path)
    own_server.call("PUT", path, {**seen, "metadata": {**seen["metadata"], "labels": {"touched": "yes"}}})
    create(own_server, own_namespace, config("later"))
    stage.operator.wait_line(namespace=own_namespace, name="later", msg="reconciled")
    assert len(stage.operator.lines(namespace=own_namespace, name="team", msg="reconciled")) == 1


def test_no_credential_reaches_the_log(own_server: ApiServer, own_namespace: str, stage: Stage) -> None:
    secret = "hf_AbCdEfGhIjKlMnOpQrSt"
    create(own_server, own_namespace, artifact("weights", env=[{"name": "HF_TOKEN", "value": secret}]))
    stage.operator.wait_line(namespace=own_namespace, name="weights", msg="reconciled")
    assert secret not in stage.operator.log.read_text()


def test_every_line_is_one_json_object(stage: Stage) -> None:
    lines = stage.operator.log.read_text().splitlines()
    assert all(set(json.loads(line)) >= EVERY_LINE for line in lines)


def test_a_failed_write_is_reported_on_the_object_while_the_rest_goes_on(
    own_server: ApiServer, own_namespace: str, stage: Stage
) -> None:
    quotas = f"/api/v1/namespaces/{own_namespace}/resourcequotas"
    quota = {"metadata": {"name": "none"}, "spec": {"hard": {"persistentvolumeclaims": "0"}}}
    own_server.call("POST", quotas, quota)
    own_server.wait_until(f"{quotas}/none", lambda one: "hard" in one.get("status", {}))
    create(own_server, own_namespace, artifact("weights"))
    path = f"{plural(own_namespace, 'AIMArtifact')}/weights"

    def told(item: Any) -> dict[str, Any]:
        conditions = item.get("status", {}).get("conditions", [])
        return next((one for one in conditions if one["type"] == "DependenciesReachable"), {})

    failed = told(own_server.wait_until(path, lambda one: told(one).get("status") == "False"))
    assert failed["reason"] == "InfrastructureError"
    assert failed["message"].startswith("Failed to apply resources: can't apply persistentvolumeclaims")
    assert "exceeded quota: none" in failed["message"]
    bindings = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{own_namespace}/rolebindings"
    assert len(own_server.call("GET", bindings)["items"]) == 1
    stage.operator.wait_line(namespace=own_namespace, name="weights", msg="pass failed")

    own_server.call("DELETE", f"{quotas}/none")
    healed = told(own_server.wait_until(path, lambda one: told(one).get("status") == "True"))
    assert (healed["reason"], healed["message"]) == ("Reachable", "All dependencies are reachable")


def test_an_orderly_end_is_quick_and_gives_the_lease_back(
    own_cluster: Cluster, own_server: ApiServer, own_namespace: str, tmp_path: Path
) -> None:
    """The real command with its real durations and open metrics; a port that is taken is one sentence."""
    port = free_port()
    flags = ("--leader-elect", f"--metrics-bind-address=127.0.0.1:{port}", "--metrics-secure=false")
    variables = {"AIM_SYSTEM_NAMESPACE": own_namespace, "POD_NAME": "manager-0"}
    with Operator(own_cluster.kubeconfig, tmp_path, *flags, command=REAL, **variables) as operator:
        operator.wait_ready()
        operator.wait_line(msg="became leader")
        status, text = scrape(f"http://127.0.0.1:{port}/metrics", None)
        assert (status, missing(text, own_cluster)) == (200, [])
        lease = f"/apis/coordination.k8s.io/v1/namespaces/{own_namespace}/leases/3be10d2f.eai.amd.com"
        held = own_server.wait_until(lease, lambda one: one["spec"].get("holderIdentity") == "manager-0")
        assert held["spec"]["leaseDurationSeconds"] == 15
        taken = f"--health-probe-bind-address=127.0.0.1:{operator.port}"
        with Operator(own_cluster.kubeconfig, tmp_path, taken, command=REAL) as second:
            assert second.wait() == 1
            assert second.log.read_text() == (
                f"aim operator: can't listen at 127.0.0.1:{operator.port}: Address already in use\n"
            )
        operator.send(signal.SIGTERM)
        assert operator.wait() == 0
        given_back = not own_server.call("GET", lease)["spec"].get("holderIdentity")
        assert given_back or operator.lines(msg="lease not released"), "a server that is slow just then is left alone"
        assert operator.lines(msg="operator stopped")


def test_a_server_that_does_not_answer_does_not_delay_the_end(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    with socket.create_server(("127.0.0.1", 0)) as silent:
        cluster = {"server": f"http://127.0.0.1:{silent.getsockname()[1]}"}
        kubeconfig.write_text(
            json.dumps(
                {
                    "clusters": [{"name": "a", "cluster": cluster}],
                    "contexts": [{"name": "a", "context": {"cluster": "a", "user": ""}}],
                    "current-context": "a",
                }
            )
        )
        with Operator(kubeconfig, tmp_path, command=REAL) as operator:
            silent.settimeout(60)
            connection, _ = silent.accept()
            with connection:
                operator.send(signal.SIGTERM)
                assert operator.wait(25) == 0
