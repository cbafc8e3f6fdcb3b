"""What the chart renders for which values, and what it refuses."""

from typing import Any

import pytest
import yaml
from tests.deploy.conftest import CHART, Helm, only

VALUES = yaml.safe_load((CHART / "values.yaml").read_text())


def manager(objects: list[dict[str, Any]]) -> dict[str, Any]:
    """The container of the operator."""
    (container,) = only(objects, "Deployment")["spec"]["template"]["spec"]["containers"]
    return container


def kinds(objects: list[dict[str, Any]]) -> set[str]:
    return {one["kind"] for one in objects}


def test_helm_finds_nothing_to_complain_about(helm: Helm) -> None:
    linted = helm.call("lint", str(CHART), "--strict", "--kube-version", "1.28")
    assert linted.returncode == 0, linted.stdout + linted.stderr
    assert "[ERROR]" not in linted.stdout and "[WARNING]" not in linted.stdout


def test_the_deployment_runs_the_operator_as_the_documentation_says(helm: Helm) -> None:
    objects = helm.render()
    deployment, container = only(objects, "Deployment"), manager(objects)
    assert deployment["metadata"]["name"] == "aim-engine-controller-manager"
    assert deployment["spec"]["replicas"] == 1
    assert deployment["spec"]["selector"]["matchLabels"] == {
        "control-plane": "controller-manager",
        "app.kubernetes.io/name": "aim-engine",
    }
    pod = deployment["spec"]["template"]
    assert pod["metadata"]["annotations"] == {"kubectl.kubernetes.io/default-container": "manager"}
    assert pod["spec"]["terminationGracePeriodSeconds"] == 10
    assert pod["spec"]["serviceAccountName"] == "aim-engine-controller-manager"
    assert container["image"] == "docker.io/amdenterpriseai/aim-engine:latest"
    assert container["command"] == ["/manager"]
    assert set(container["args"]) == {
        "--metrics-bind-address=:8443",
        "--health-probe-bind-address=:8081",
        "--leader-elect",
    }
    assert {one["name"]: one["valueFrom"]["fieldRef"]["fieldPath"] for one in container["env"]} == {
        "AIM_SYSTEM_NAMESPACE": "metadata.namespace",
        "POD_NAME": "metadata.name",
    }
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert [mount["mountPath"] for mount in container["volumeMounts"]] == ["/tmp"]
    assert container["resources"]["requests"] == {"cpu": "100m", "memory": "256Mi"}
    assert container["resources"]["limits"] == {"cpu": "500m", "memory": "4Gi"}


@pytest.mark.parametrize(
    ("probe", "path", "delay", "period"),
    [
        pytest.param("livenessProbe", "/healthz", 15, 20, id="alive"),
        pytest.param("readinessProbe", "/readyz", 5, 10, id="ready"),
    ],
)
def test_probes_ask_the_port_where_they_are_served(helm: Helm, probe: str, path: str, delay: int, period: int) -> None:
    container = manager(helm.render())
    found, ports = container[probe], {port["name"]: port["containerPort"] for port in container["ports"]}
    assert (found["httpGet"]["path"], ports[found["httpGet"]["port"]]) == (path, 8081)
    assert (found["initialDelaySeconds"], found["periodSeconds"]) == (delay, period)


def test_the_manager_is_what_the_values_say(helm: Helm) -> None:
    objects = helm.render(
        "manager.replicas=2",
        'manager.image={"repository": "registry.example/aim", "tag": "1.2.3", "pullPolicy": "Always"}',
        'manager.imagePullSecrets=[{"name": "regcred"}]',
        'manager.args=["--leader-elect", "--zap-log-level=debug"]',
        'manager.env=[{"name": "AIM_REGISTRY_CA_FILE", "value": "/etc/ca/ca.crt"}]',
        'manager.volumes=[{"name": "ca", "configMap": {"name": "ca"}}]',
        'manager.volumeMounts=[{"name": "ca", "mountPath": "/etc/ca"}]',
        'manager.resources={"limits": {"memory": "1Gi"}, "requests": null}',
    )
    container, pod = manager(objects), only(objects, "Deployment")["spec"]["template"]["spec"]
    assert only(objects, "Deployment")["spec"]["replicas"] == 2
    assert (container["image"], container["imagePullPolicy"]) == ("registry.example/aim:1.2.3", "Always")
    assert pod["imagePullSecrets"] == [{"name": "regcred"}]
    assert container["args"][-2:] == ["--leader-elect", "--zap-log-level=debug"]
    assert container["env"][-1] == {"name": "AIM_REGISTRY_CA_FILE", "value": "/etc/ca/ca.crt"}
    assert pod["volumes"][-1] == {"name": "ca", "configMap": {"name": "ca"}}
    assert container["volumeMounts"][-1] == {"name": "ca", "mountPath": "/etc/ca"}
    assert container["resources"]["limits"]["memory"] == "1Gi"


@pytest.mark.parametrize(
    ("settings", "shown", "kept"),
    [
        pytest.param((), True, True, id="kinds come with the chart and stay without it"),
        pytest.param(("crd.keep=false",), True, False, id="kinds go with the chart"),
        pytest.param(("crd.enable=false",), False, False, id="somebody else brings the kinds"),
    ],
)
def test_kinds_are_in_the_chart_as_the_values_say(
    helm: Helm, settings: tuple[str, ...], shown: bool, kept: bool
) -> None:
    crds = [one for one in helm.render(*settings) if one["kind"] == "CustomResourceDefinition"]
    assert len(crds) == (11 if shown else 0)
    policies = {one["metadata"].get("annotations", {}).get("helm.sh/resource-policy") for one in crds}
    assert policies == ({"keep"} if kept else {None} if shown else set())


def test_without_metrics_nothing_serves_or_guards_them(helm: Helm) -> None:
    objects = helm.render("metrics.enable=false")
    assert "--metrics-bind-address=0" in manager(objects)["args"]
    assert [port["name"] for port in manager(objects)["ports"]] == ["probes"]
    assert "Service" not in kinds(objects)
    assert not [one for one in objects if "metrics" in one["metadata"]["name"]]


def test_metrics_are_reached_at_the_port_that_was_chosen(helm: Helm) -> None:
    objects = helm.render("metrics.port=9443", "networkPolicy.enable=true", "prometheus.enable=true")
    assert "--metrics-bind-address=:9443" in manager(objects)["args"]
    service = only(objects, "Service", "aim-engine-controller-manager-metrics-service")
    assert [(port["name"], port["port"], port["targetPort"]) for port in service["spec"]["ports"]] == [
        ("https", 9443, 9443)
    ]
    policy = only(objects, "NetworkPolicy", "allow-metrics-traffic")["spec"]
    assert policy["ingress"] == [
        {
            "from": [{"namespaceSelector": {"matchLabels": {"metrics": "enabled"}}}],
            "ports": [{"port": 9443, "protocol": "TCP"}],
        }
    ]
    pod_labels = only(objects, "Deployment")["spec"]["template"]["metadata"]["labels"].items()
    assert policy["podSelector"]["matchLabels"].items() <= pod_labels
    assert service["spec"]["selector"].items() <= pod_labels
    monitor = only(objects, "ServiceMonitor", "aim-engine-controller-manager-metrics-monitor")["spec"]
    assert monitor["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    (endpoint,) = monitor["endpoints"]
    assert (endpoint["port"], endpoint["scheme"], endpoint["path"]) == ("https", "https", "/metrics")
    assert endpoint["tlsConfig"] == {"insecureSkipVerify": True}


def test_a_certificate_of_cert_manager_is_mounted_where_the_operator_looks(helm: Helm) -> None:
    objects = helm.render("certManager.enable=true", "prometheus.enable=true")
    container, pod = manager(objects), only(objects, "Deployment")["spec"]["template"]["spec"]
    place = "/tmp/k8s-metrics-server/metrics-certs"
    assert f"--metrics-cert-path={place}" in container["args"]
    mounted = next(mount["name"] for mount in container["volumeMounts"] if mount["mountPath"] == place)
    secret = next(volume["secret"]["secretName"] for volume in pod["volumes"] if volume["name"] == mounted)
    certificate = only(objects, "Certificate")["spec"]
    assert secret == certificate["secretName"] == "metrics-server-cert"
    assert certificate["issuerRef"]["name"] == only(objects, "Issuer")["metadata"]["name"]
    endpoint = only(objects, "ServiceMonitor")["spec"]["endpoints"][0]
    assert endpoint["tlsConfig"]["serverName"] in certificate["dnsNames"]
    assert "insecureSkipVerify" not in endpoint["tlsConfig"]


@pytest.mark.parametrize(
    ("settings", "spec"),
    [
        pytest.param((), {}, id="no spec at all"),
        pytest.param(("clusterRuntimeConfig.spec=null",), {}, id="an empty spec"),
        pytest.param(
            ('clusterRuntimeConfig.spec={"storage": {"defaultStorageClassName": "nfs"}}',),
            {"storage": {"defaultStorageClassName": "nfs"}},
            id="a spec",
        ),
    ],
)
def test_a_cluster_runtime_config_is_rendered_on_demand(helm: Helm, settings: tuple[str, ...], spec: Any) -> None:
    config = only(helm.render("clusterRuntimeConfig.enable=true", *settings), "AIMClusterRuntimeConfig")
    assert (config["metadata"]["name"], config["spec"]) == ("default", spec)


def test_a_model_source_is_rendered_on_demand(helm: Helm) -> None:
    source = only(helm.render("clusterModelSource.enable=true"), "AIMClusterModelSource")
    assert source["metadata"]["name"] == "amd-aim-model-source"
    assert source["spec"] == {
        "registry": "docker.io",
        "filters": [{"image": "amdenterpriseai/aim-*", "versions": [">=0.8.4"]}],
        "syncInterval": "1h",
        "maxModels": 500,
    }
    assert {"AIMClusterModelSource", "AIMClusterRuntimeConfig"}.isdisjoint(kinds(helm.render()))


def test_roles_for_people_exist_under_both_names_unless_switched_off(helm: Helm) -> None:
    with_them, without = helm.render(), helm.render("rbacHelpers.enable=false")
    for name, verbs in {"admin": ["*"], "viewer": ["get", "list", "watch"]}.items():
        for role in (f"aim-engine-aimservice-{name}-role", f"aimservice-{name}"):
            objects, status = only(with_them, "ClusterRole", role)["rules"]
            assert (objects["resources"], objects["verbs"]) == (["aimservices"], verbs)
            assert (status["resources"], status["verbs"]) == (["aimservices/status"], ["get"])
    people = [one["metadata"]["name"] for one in with_them if one["metadata"]["name"].endswith(("-viewer", "-role"))]
    assert len([name for name in people if name.endswith("-viewer")]) == 11
    assert not [one for one in without if one["metadata"]["name"].endswith(("-viewer", "-editor", "-admin"))]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        pytest.param(
            ("manager.replicas=2", "manager.args=[]"),
            "manager.replicas is 2: more than one replica needs --leader-elect in manager.args",
            id="several replicas without leader election",
        ),
        pytest.param(
            ("manager.replicas=3", 'manager.args=["--leader-elect=false"]'),
            "manager.replicas is 3: more than one replica needs --leader-elect",
            id="several replicas with leader election switched off",
        ),
        pytest.param(
            ('manager.args=["--metrics-bind-address=:9999"]',),
            "manager.args has --metrics-bind-address=:9999: that flag follows from metrics.enable",
            id="a flag that follows from other values",
        ),
        pytest.param(
            ('manager.args=["-health-probe-bind-address", ":1"]',),
            "manager/args/1",
            id="a value apart from its flag",
        ),
        pytest.param(
            ('manager.args=["--health-probe-bind-address=:1"]',),
            "probes are always served at port 8081",
            id="another address for probes",
        ),
        pytest.param(
            ('manager.env=[{"name": "AIM_SYSTEM_NAMESPACE", "value": "x"}]',),
            "manager.env sets AIM_SYSTEM_NAMESPACE: the chart sets it from the pod itself",
            id="a variable that the chart sets",
        ),
        pytest.param(
            ("metrics.enable=false", "prometheus.enable=true"),
            "prometheus.enable is true, but metrics.enable is false",
            id="scraping metrics that are off",
        ),
        pytest.param(("metrics.port=8081",), "metrics.port is 8081, where the probes are served", id="a port twice"),
        pytest.param(("metrics.port=70000",), "metrics/port", id="a port that does not exist"),
        pytest.param(("manager.replica=2",), "'replica' not allowed", id="a misspelt value"),
        pytest.param(('manager.image.pullPolicy="Sometimes"',), "manager/image/pullPolicy", id="an unknown policy"),
        pytest.param(('crd.enable="yes"',), "crd/enable", id="a text in place of a switch"),
        pytest.param(
            ("clusterModelSource.enable=true", 'clusterModelSource.name="Bad Name"'),
            "clusterModelSource/name",
            id="a name that Kubernetes would refuse",
        ),
    ],
)
def test_bad_values_are_refused_with_a_sentence(helm: Helm, settings: tuple[str, ...], sentence: str) -> None:
    assert sentence in helm.refusal(*settings)


WHOLE = ("spec", "resources", "podSecurityContext", "securityContext")
"""Values that are handed on as they are."""


def leaves(values: Any, path: tuple[str, ...] = ()) -> list[str]:
    if isinstance(values, dict) and not (path and path[-1] in WHOLE):
        return [leaf for name, value in values.items() for leaf in leaves(value, (*path, name))]
    return [".".join(path)]


@pytest.mark.parametrize("value", leaves(VALUES))
def test_every_value_is_used_by_a_template_and_told_of_in_the_readme(value: str) -> None:
    templates = "".join(file.read_text() for file in (CHART / "templates").glob("*"))
    assert f".Values.{value}" in templates, f"{value} has no effect"
    assert f"`{value}`" in (CHART / "README.md").read_text(), f"README.md does not tell of {value}"
