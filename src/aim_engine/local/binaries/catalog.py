"""Which program comes out of which Go module of `kubernetes/`, and which version that is."""

import hashlib
import platform
import re
from pathlib import Path
from typing import NamedTuple

from aim_engine.local import shipped
from aim_engine.local.errors import LocalError


class Module(NamedTuple):
    """A folder of `kubernetes/` that Go builds into one executable."""

    folder: str
    """Its path below `kubernetes/`."""
    programs: tuple[str, ...]
    """The names under which the executable is found; one that holds several programs looks at its own name."""
    minutes: int
    """How long a first build takes on two cores, roughly."""
    package: str = "."
    """The package to build, when it is not the folder's own."""
    stamped: tuple[str, ...] = ()
    """Packages whose gitVersion, gitMajor and gitMinor say which Kubernetes this is."""

    @property
    def directory(self) -> Path:
        return shipped.directory("kubernetes") / self.folder

    def required(self, path: str) -> str:
        """The version of the module `path` that this module's go.mod asks for."""
        found = re.search(rf"^\s*(?:require )?{re.escape(path)} (v\S+)", self._go_mod(), re.MULTILINE)
        if found is None:
            raise LocalError(f"{self.directory / 'go.mod'} requires no {path}; reinstall aim-engine.")
        return found[1]

    @property
    def go(self) -> str:
        """The oldest Go that builds this module, such as 1.24.0."""
        found = re.search(r"^go (\S+)$", self._go_mod(), re.MULTILINE)
        if found is None:
            raise LocalError(f"{self.directory / 'go.mod'} has no go line; reinstall aim-engine.")
        return found[1]

    @property
    def key(self) -> str:
        """Names this version in the cache: it changes with everything that the executable is made from."""
        parts = (self.programs, self.package, self.stamped, platform.system(), platform.machine())
        digest = hashlib.sha256(repr(parts).encode())
        for file in sorted(file for file in self.directory.iterdir() if file.suffix in {".go", ".mod", ".sum"}):
            digest.update(f"\0{file.name}\0".encode() + file.read_bytes())
        return f"{self.directory.name}-{digest.hexdigest()[:16]}"

    def _go_mod(self) -> str:
        return (self.directory / "go.mod").read_text()


CONTROL_PLANE = Module(
    folder="control-plane",
    programs=("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"),
    minutes=8,
    stamped=("k8s.io/component-base/version", "k8s.io/client-go/pkg/version"),
)
KSERVE = Module(folder="kserve", programs=("kserve",), minutes=5, package="github.com/kserve/kserve/cmd/manager")
S3 = Module(folder="s3", programs=("versitygw",), minutes=3, package="github.com/versity/versitygw/cmd/versitygw")
REGISTRY = Module(folder="registry", programs=("registry",), minutes=2)
HELM = Module(folder="helm", programs=("helm",), minutes=3, package="helm.sh/helm/v3/cmd/helm")
CRANE = Module(
    folder="crane", programs=("crane",), minutes=1, package="github.com/google/go-containerregistry/cmd/crane"
)

MODULES = (CONTROL_PLANE, KSERVE, S3, REGISTRY, HELM, CRANE)


def module_of(program: str) -> Module:
    """The module that `program` comes out of."""
    for module in MODULES:
        if program in module.programs:
            return module
    known = ", ".join(name for module in MODULES for name in module.programs)
    raise LocalError(f"There is no program {program} among those of the local cluster: {known}.")
