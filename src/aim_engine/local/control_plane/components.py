"""The programs of the control plane, and how each one is started."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from aim_engine.local.control_plane.cluster import Files

SERVICES = "10.96.0.0/12"
"""Cluster addresses of Services. Nothing routes them: whoever follows a Service goes from its selector to pods."""

CONTROLLERS_OFF = (
    # The API server refuses loopback addresses in endpoints, and every pod here has one.
    "endpoints-controller",
    "endpointslice-controller",
    "endpointslice-mirroring-controller",
    # It would overwrite what the autoscaler's stand-in writes.
    "horizontal-pod-autoscaler-controller",
)

EPHEMERAL_DATA = "etcd-ephemeral"
ETCD_SOCKET, PEER_SOCKET = "etcd:0", "etcd-peer:0"
"""Sockets in the cluster's directory, which is closed to other users. Relative, because the path of a socket has to be
short; in the shape of host and port, because etcd insists."""


class Ports(NamedTuple):
    """Where the programs listen, at the address of the cluster."""

    api_server: int
    controllers: int
    scheduler: int


class Setting(NamedTuple):
    """What the command lines are made of."""

    files: Files
    address: str
    ports: Ports
    ephemeral: bool

    @property
    def data(self) -> Path:
        """Where etcd keeps its state; an ephemeral cluster never touches that of a lasting one."""
        return self.files.directory / (EPHEMERAL_DATA if self.ephemeral else "etcd")

    def key(self, name: str) -> str:
        return str(self.files.keys / name)

    def login(self, program: str) -> str:
        """The kubeconfig with which a program of the control plane calls the API server."""
        return str(self.files.keys / f"{program}.kubeconfig")


def etcd(setting: Setting) -> dict[str, str]:
    flags = {
        "--name": "local",
        "--data-dir": str(setting.data),
        "--listen-client-urls": f"unix://{ETCD_SOCKET}",
        "--advertise-client-urls": f"unix://{ETCD_SOCKET}",
        "--listen-peer-urls": f"unix://{PEER_SOCKET}",
        "--initial-advertise-peer-urls": f"unix://{PEER_SOCKET}",
        # A member that is alone needs no time to hear from others before it elects itself.
        "--heartbeat-interval": "20",
        "--election-timeout": "200",
        "--initial-cluster": f"local=unix://{PEER_SOCKET}",
        "--quota-backend-bytes": str(8 << 30),
        "--log-level": "warn",
        "--logger": "zap",
    }
    return flags | ({"--unsafe-no-fsync": "true"} if setting.ephemeral else {})


def api_server(setting: Setting) -> dict[str, str]:
    return {
        "--etcd-servers": f"unix://{ETCD_SOCKET}",
        "--bind-address": setting.address,
        "--advertise-address": setting.address,
        "--secure-port": str(setting.ports.api_server),
        "--endpoint-reconciler-type": "none",  # it would write a loopback address into endpoints
        "--service-cluster-ip-range": SERVICES,
        "--authorization-mode": "RBAC",
        "--allow-privileged": "true",
        "--client-ca-file": setting.key("ca.crt"),
        "--tls-cert-file": setting.key("api-server.crt"),
        "--tls-private-key-file": setting.key("api-server.key"),
        "--kubelet-certificate-authority": setting.key("ca.crt"),
        "--kubelet-client-certificate": setting.key("kubelet-client.crt"),
        "--kubelet-client-key": setting.key("kubelet-client.key"),
        "--kubelet-preferred-address-types": "InternalIP",
        "--service-account-issuer": "https://kubernetes.default.svc.cluster.local",
        "--service-account-key-file": setting.key("service-account.pub"),
        "--service-account-signing-key-file": setting.key("service-account.key"),
        "--profiling": "false",
    }


def controllers(setting: Setting) -> dict[str, str]:
    return {
        **_secondary(setting, "kube-controller-manager", setting.ports.controllers),
        "--controllers": ",".join(("*", *(f"-{name}" for name in CONTROLLERS_OFF))),
        "--use-service-account-credentials": "true",
        "--service-account-private-key-file": setting.key("service-account.key"),
        "--flex-volume-plugin-dir": str(setting.files.directory / "flex-volumes"),  # else it makes one in /usr
        "--root-ca-file": setting.key("ca.crt"),
        "--cluster-signing-cert-file": setting.key("ca.crt"),
        "--cluster-signing-key-file": setting.key("ca.key"),
    }


def scheduler(setting: Setting) -> dict[str, str]:
    return _secondary(setting, "kube-scheduler", setting.ports.scheduler)


def _secondary(setting: Setting, program: str, port: int) -> dict[str, str]:
    """What the clients of the API server share; they are alone, so they need no leader election."""
    login = setting.login(program)
    return {
        "--kubeconfig": login,
        "--authentication-kubeconfig": login,
        "--authorization-kubeconfig": login,
        "--bind-address": setting.address,
        "--secure-port": str(port),
        "--authentication-skip-lookup": "true",  # it looks for the authority of a front proxy, and there is none
        "--client-ca-file": setting.key("ca.crt"),
        "--tls-cert-file": setting.key("api-server.crt"),
        "--tls-private-key-file": setting.key("api-server.key"),
        "--leader-elect": "false",
        "--kube-api-qps": "500",
        "--kube-api-burst": "1000",
        "--profiling": "false",
    }


def command(executable: Path, flags: Mapping[str, str]) -> list[str]:
    """The command line of a program."""
    return [str(executable), *(f"{name}={value}" for name, value in flags.items())]
