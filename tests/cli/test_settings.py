"""Flags and environment variables become settings, or a sentence that says what is wrong."""

import pytest

from aim_engine import settings


@pytest.mark.parametrize(
    ("arguments", "name", "expected"),
    [
        pytest.param([], "leader_elect", False, id="a switch that is not given is off"),
        pytest.param(["--leader-elect"], "leader_elect", True, id="two dashes"),
        pytest.param(["-leader-elect"], "leader_elect", True, id="one dash"),
        pytest.param(["--metrics-secure=false"], "metrics_secure", False, id="a switch with a value"),
        pytest.param(["--metrics-secure=F"], "metrics_secure", False, id="a switch with a short value"),
        pytest.param(
            ["-metrics-bind-address", ":8443"], "metrics_bind_address", ":8443", id="value as its own argument"
        ),
        pytest.param(
            ["--metrics-bind-address=:8443"], "metrics_bind_address", ":8443", id="value after an equals sign"
        ),
        pytest.param(["--kubeconfig="], "kubeconfig", "", id="an empty value"),
        pytest.param(["--kubeconfig=a", "--kubeconfig=b"], "kubeconfig", "b", id="the last one counts"),
        pytest.param(["--zap-log-level=5"], "zap_log_level", "5", id="a verbosity as number"),
        pytest.param(["--leader-elect", "--zap-devel"], "zap_devel", True, id="a switch takes no following argument"),
    ],
)
def test_flags_are_read_as_go_programs_read_them(arguments: list[str], name: str, expected: object) -> None:
    assert getattr(settings.read(arguments, {}, "host"), name) == expected


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        pytest.param(["--leader"], "unknown flag '--leader'", id="no abbreviations"),
        pytest.param(["-z=1"], "unknown flag '-z'", id="unknown flag with a value"),
        pytest.param(["run"], "unexpected argument 'run': the operator takes only flags", id="a word"),
        pytest.param(
            ["--leader-elect=maybe"], "flag --leader-elect is 'maybe'; it takes true or false", id="no truth value"
        ),
        pytest.param(["--kubeconfig"], "flag --kubeconfig needs a value", id="value missing"),
        pytest.param(
            ["--zap-encoder=xml"], "flag --zap-encoder is 'xml'; it takes one of: json, console", id="not a choice"
        ),
        pytest.param(
            ["--zap-log-level=loud"],
            "flag --zap-log-level is 'loud'; it takes one of: debug, info, error, an integer",
            id="neither a level nor a number",
        ),
        pytest.param(
            ["--zap-log-level=--5"],
            "flag --zap-log-level is '--5'; it takes one of: debug, info, error, an integer",
            id="no number",
        ),
    ],
)
def test_a_wrong_flag_is_answered_with_one_sentence(arguments: list[str], sentence: str) -> None:
    with pytest.raises(settings.UsageError) as refusal:
        settings.read(arguments, {}, "host")
    assert str(refusal.value) == sentence


def test_two_processes_of_one_host_are_not_taken_for_one_leader() -> None:
    first, second = (settings.read([], {}, "host") for _ in range(2))
    assert first.leader_identity.startswith("host_")
    assert first.leader_identity != second.leader_identity
    assert settings.read([], {"POD_NAME": "manager-1"}, "host").leader_identity == "manager-1"


def test_the_environment_names_namespace_and_identity() -> None:
    environment = {"AIM_SYSTEM_NAMESPACE": "ops", "POD_NAME": "manager-1", "AIM_REGISTRY_MIRRORS": "ghcr.io=https://m"}
    told = settings.read([], environment, "host")
    assert (told.system_namespace, told.identity, told.registry_mirrors) == ("ops", "manager-1", "ghcr.io=https://m")


def test_without_environment_the_documented_defaults_hold() -> None:
    told = settings.read([], {"AIM_SYSTEM_NAMESPACE": ""}, "host")
    assert (told.system_namespace, told.identity, told.registry_ca_file) == ("aim-system", "host", "")


def test_the_usage_lists_every_flag_with_its_default() -> None:
    text = settings.usage()
    assert all(f"--{name}" in text for name in settings.FLAGS)
    assert "where /healthz and /readyz are served; 0 = nowhere (default ':8081')" in text
