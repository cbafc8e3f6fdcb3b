"""From a container of a pod and its image to one run: everything a process needs, complete before it starts."""

import os

from aim_engine.api import quantity
from aim_engine.local.container.book import Image
from aim_engine.local.container.run import Mount, Run
from aim_engine.local.node import environment
from aim_engine.local.node.container_spec import Container
from aim_engine.local.node.environment import Data
from aim_engine.local.node.errors import ConfigurationError
from aim_engine.local.node.site import Site

HOSTNAME_LIMIT = 63


def assemble(container: Container, entry: Image, site: Site, data: Data, number: int) -> Run:
    """Return the run; ConfigurationError or MountError say what is not there, StartError that nothing is to be run."""
    pod, placement = site.pod, site.placement
    image = entry.filled(
        {
            "podIP": placement.pod_address,
            "podName": pod.metadata.name,
            "podNamespace": pod.metadata.namespace,
            "nodeName": placement.node,
            "image": container.image,
        }
    )
    base = {**image.environment, **site.tools.environment, "POD_IP": placement.pod_address}
    command = environment.build(container, pod, data, placement, base)
    context = pod.spec.security_context
    user = _user(container, entry, site)
    limit = container.resources.limits.get("memory")
    return Run(
        name=f"{pod.metadata.namespace}/{pod.metadata.name}/{container.name}",
        argv=image.command_line(command.command, command.args),
        scratch=site.layout.run(container.name, number),
        log=site.layout.log(container.name, number),
        environment=command.environment,
        working_directory=container.working_dir or entry.working_directory,
        mounts=site.volumes.mounts(container, command.environment),
        programs=entry.programs,
        user=user,
        group=_first(container.security_context.run_as_group, context.run_as_group),
        groups=tuple(sorted({*context.supplemental_groups, *filter(None, [context.fs_group])})),
        read_only_root=container.security_context.read_only_root_filesystem,
        termination_message=Mount(site.layout.last_words(container.name), container.termination_message_path),
        memory_limit=int(quantity.parse(limit)) if limit else None,
        pod_ip=placement.pod_address,
        hostname=(pod.spec.hostname or pod.metadata.name)[:HOSTNAME_LIMIT],
    )


def _user(container: Container, entry: Image, site: Site) -> int | None:
    context = site.pod.spec.security_context
    user = _first(container.security_context.run_as_user, context.run_as_user, entry.user)
    not_root = _first(container.security_context.run_as_non_root, context.run_as_non_root)
    if not_root and (os.geteuid() if user is None else user) == 0:
        raise ConfigurationError(
            f'container has runAsNonRoot and image will run as root (pod: "{site.pod.title}", '
            f"container: {container.name})"
        )
    return user


def _first(*values: int | None) -> int | None:
    return next((value for value in values if value is not None), None)
