"""From a run to an order that the launcher can carry out, with the directories it needs."""

import os
import shutil

from aim_engine.local.container import root
from aim_engine.local.container.messages import Order
from aim_engine.local.container.rewrite import rewritten
from aim_engine.local.container.run import Mode, Run

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ROOT = 0
OWN_DIRECTORIES = {"root": 0o755, "tmp": 0o1777, "home": 0o755, "shm": 0o1777}
"""What is kept in a run's scratch directory, with its permissions."""


def order(run: Run, mode: Mode, *, agent_user: int, agent_group: int) -> Order:
    """What the launcher is told. As Kubernetes has it, a user who is given no group is in the group of root."""
    privileged = agent_user == ROOT
    user = agent_user if run.user is None else run.user
    group = ROOT if privileged and run.user is not None else agent_group
    group = group if run.group is None else run.group
    steps = () if mode == "rewritten" else root.steps(run, user=user, group=group)
    told = rewritten(run, root.interpreter_places()) if mode == "rewritten" else run
    defaults = {"PATH": PATH, "HOME": root.home(user), "HOSTNAME": run.hostname, "POD_IP": run.pod_ip}
    return Order(
        name=run.name,
        mode=mode,
        argv=told.argv,
        environment={**defaults, **told.environment},
        working_directory=told.working_directory,
        root=str((run.scratch / "root").resolve()),
        steps=steps,
        log_directory=str(run.log.parent),
        log_name=run.log.name,
        privileged=privileged,
        user=user,
        group=group,
        groups=run.groups,
        hostname=run.hostname,
        read_only_root=run.read_only_root,
        memory_limit=run.memory_limit,
    )


def make_directories(run: Run, *, agent_user: int) -> None:
    """Make what the run needs on the host: its scratch directories and an empty termination message."""
    for name, mode in OWN_DIRECTORIES.items():
        directory = run.scratch / name
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        directory.chmod(mode)
    if agent_user == ROOT and run.user is not None:
        os.chown(run.scratch / "home", run.user, -1)
    if run.termination_message:
        run.termination_message.source.write_bytes(b"")
        run.termination_message.source.chmod(0o666)
