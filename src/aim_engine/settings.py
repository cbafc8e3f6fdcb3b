"""Every environment variable and flag of the operator, read once into one frozen value.

Flags are spelled as Go programs take them: one dash or two, `--flag=value` or `--flag value`; a switch is `--flag`,
`--flag=true` or `--flag=false`, so that manifests written for other operators keep working.
"""

import dataclasses
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

TRUE = {"1", "t", "T", "true", "True", "TRUE"}
FALSE = {"0", "f", "F", "false", "False", "FALSE"}
INTEGER = re.compile(r"-?[0-9]+")


class UsageError(Exception):
    """The command line or the environment is wrong; the text is one sentence that says where and what is expected."""


class HelpAsked(Exception):
    """The user asked for the list of flags."""


def flag(default: bool | str, text: str, choices: tuple[str, ...] = ()) -> Any:
    """A setting that is a flag of the same name with dashes; `choices` are its only values, `N` is any integer."""
    return dataclasses.field(default=default, metadata={"flag": True, "text": text, "choices": choices})


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
    """What the operator was told when it was started."""

    metrics_bind_address: str = flag("0", "where metrics are served: 0 = nowhere, :8443 = HTTPS, :8080 = HTTP")
    metrics_secure: bool = flag(True, "serve metrics over TLS to callers whose token may read /metrics")
    metrics_cert_path: str = flag(
        "", "directory of the serving certificate, read again when it changes; empty = self-signed"
    )
    metrics_cert_name: str = flag("tls.crt", "file name of the certificate in metrics-cert-path")
    metrics_cert_key: str = flag("tls.key", "file name of the key in metrics-cert-path")
    health_probe_bind_address: str = flag(":8081", "where /healthz and /readyz are served; 0 = nowhere")
    leader_elect: bool = flag(False, "work only while holding the lease, so that several replicas can run")
    enable_http2: bool = flag(False, "accepted for compatibility; metrics and probes speak HTTP/1.1")
    webhook_cert_path: str = flag("", "accepted for compatibility; there are no webhooks")
    webhook_cert_name: str = flag("tls.crt", "accepted for compatibility; there are no webhooks")
    webhook_cert_key: str = flag("tls.key", "accepted for compatibility; there are no webhooks")
    zap_devel: bool = flag(False, "log for people: console lines from debug level on")
    zap_encoder: str = flag("json", "form of a log line", ("json", "console"))
    zap_log_level: str = flag("info", "least level that is logged", ("debug", "info", "error", "N"))
    zap_stacktrace_level: str = flag(
        "dpanic", "least level whose unexpected errors carry a stack trace", ("info", "error", "panic", "dpanic")
    )
    zap_time_encoding: str = flag(
        "rfc3339", "form of a time in the log", ("epoch", "millis", "nano", "iso8601", "rfc3339", "rfc3339nano")
    )
    kubeconfig: str = flag("", "file that says how to reach the cluster; empty = in-cluster, else the usual kubeconfig")
    system_namespace: str = "aim-system"
    identity: str = ""
    """Who holds the lock of discovery."""
    leader_identity: str = ""
    """Who leads: a name that no other process has."""
    registry_mirrors: str = ""
    registry_ca_file: str = ""
    docker_config: str = ""


FOR_PEOPLE: dict[str, Any] = {"zap_encoder": "console", "zap_log_level": "debug"}
"""What --zap-devel stands for where nothing else is said."""

FLAGS = {
    setting.name.replace("_", "-"): setting for setting in dataclasses.fields(Settings) if setting.metadata.get("flag")
}


def read(arguments: Sequence[str], environment: Mapping[str, str], host: str) -> Settings:
    """The settings of these arguments and this environment; raises UsageError for what cannot be understood."""
    given = dict(flags(arguments))
    return Settings(
        **{**(FOR_PEOPLE if given.get("zap_devel") else {}), **given},
        system_namespace=environment.get("AIM_SYSTEM_NAMESPACE") or Settings.system_namespace,
        identity=environment.get("POD_NAME") or host,
        leader_identity=environment.get("POD_NAME") or f"{host}_{uuid.uuid4()}",
        registry_mirrors=environment.get("AIM_REGISTRY_MIRRORS", ""),
        registry_ca_file=environment.get("AIM_REGISTRY_CA_FILE", ""),
        docker_config=environment.get("DOCKER_CONFIG") or f"{environment.get('HOME', '')}/.docker",
    )


def flags(arguments: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """The name and value of each flag given, in order."""
    rest = iter(arguments)
    for argument in rest:
        if not argument.startswith("-"):
            raise UsageError(f"unexpected argument {argument!r}: the operator takes only flags")
        name, equals, text = argument.removeprefix("-").removeprefix("-").partition("=")
        if name in ("h", "help"):
            raise HelpAsked
        if name not in FLAGS:
            raise UsageError(f"unknown flag {argument.partition('=')[0]!r}")
        setting = FLAGS[name]
        if setting.type is bool:
            yield setting.name, switch(name, text if equals else "true")
            continue
        if not equals:
            text = next(rest, None)
        if text is None:
            raise UsageError(f"flag --{name} needs a value")
        yield setting.name, chosen(name, text, setting.metadata["choices"])


def switch(name: str, text: str) -> bool:
    """The truth value of a switch's text."""
    if text not in TRUE | FALSE:
        raise UsageError(f"flag --{name} is {text!r}; it takes true or false")
    return text in TRUE


def chosen(name: str, text: str, choices: tuple[str, ...]) -> str:
    """The text, if it is one of the choices (any text, if there are none)."""
    if not choices or text in choices or ("N" in choices and INTEGER.fullmatch(text)):
        return text
    words = ", ".join("an integer" if choice == "N" else choice for choice in choices)
    raise UsageError(f"flag --{name} is {text!r}; it takes one of: {words}")


def usage() -> str:
    """The list of flags with what each is for."""
    return "\n".join(
        f"  --{name}{'' if setting.type is bool else ' VALUE'}\n        {setting.metadata['text']}"
        f" (default {str(setting.default).lower() if setting.type is bool else repr(setting.default)})"
        for name, setting in FLAGS.items()
    )
