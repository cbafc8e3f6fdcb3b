"""From a fork of init to a running program: everything a process has to become in between."""

import errno
import os
import signal
from typing import NoReturn

import msgspec

from aim_engine.local.container import kernel
from aim_engine.local.container.messages import Order

CAPABILITIES = (0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 29, 31)
"""What root may do in a container: chown, dac_override, fowner, fsetid, kill, setgid, setuid, setpcap,
net_bind_service, net_raw, sys_chroot, audit_write, setfcap. Not: mounts, devices, modules, processes of others."""

SIGNALS = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}
"""All that can be handled or ignored: a program must find them as no program has touched them."""


def spawn(order: Order, argv: tuple[str, ...], out: int, err: int) -> int:
    """Run a program in this container and return its process number; OSError if it can't be executed."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _become(order, argv, out, err, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as failure:
        text = failure.read()  # ends when the program has taken over, for then the other end is closed
    if not text:
        return child
    os.waitpid(child, 0)
    raise OSError(*msgspec.json.decode(text, type=tuple[int, str]))


def _become(order: Order, argv: tuple[str, ...], out: int, err: int, failed: int) -> NoReturn:
    try:
        os.setsid()
        os.dup2(out, 1)
        os.dup2(err, 2)
        for number in SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        os.umask(0o022)
        _drop_privileges(order)
        kernel.die_with_parent()
        os.chdir(order.working_directory)
        _execute(argv, order.environment)
    except OSError as failure:
        os.write(failed, msgspec.json.encode((failure.errno, f"{failure.filename}: {failure.strerror}")))
    finally:
        os._exit(127)


def _drop_privileges(order: Order) -> None:
    if order.privileged or order.mode != "rewritten":
        kernel.keep_capabilities(CAPABILITIES)
    if order.privileged and (order.groups or (order.user, order.group) != (os.geteuid(), os.getegid())):
        os.setgroups(order.groups)
        os.setresgid(order.group, order.group, order.group)
        os.setresuid(order.user, order.user, order.user)
    kernel.refuse_new_privileges()


def _execute(argv: tuple[str, ...], environment: dict[str, str]) -> NoReturn:
    """Become the program; the words of a failure are those of container runtimes."""
    name = argv[0]
    try:
        os.execvpe(name, argv, environment)
    except OSError as failure:
        missing = failure.errno in (errno.ENOENT, errno.ENOTDIR)
        if missing and "/" not in name:
            text = "executable file not found in $PATH"
        else:
            text = f"{'stat ' if missing else ''}{name}: {(failure.strerror or '').lower()}"
        raise OSError(failure.errno, text, f'exec: "{name}"') from failure
