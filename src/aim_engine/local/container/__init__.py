"""Containers as processes: what an image stands for, how one container runs, and what it wrote.

`book` turns an image into programs of this machine, `run` says what one container is, `sandbox` runs it, `logs` keeps
and reads what it prints. Nothing here knows of pods or of an API server. From the outside:

    book = read_books([Path("mine.yaml")])            # the built-in book comes last; BookError names file, entry, field
    image = book.find("busybox:1.36")                 # None: no such image
    argv = image.command_line(command, arguments)     # as Kubernetes joins them with the image's own

    async with Sandbox() as sandbox:                  # leaving it ends every container
        sandbox.mode                                  # isolated, mounted or rewritten
        container = await sandbox.start(run)          # StartError: program missing, mount impossible
        container.pid, container.started_at
        code, output = await container.execute(argv, timeout=1.0)   # TimeoutError; ContainerGone
        await container.stop(grace=30.0)              # SIGTERM, then SIGKILL to all of it; returns the Exit
        await container.kill("OOMKilled")             # SIGKILL at once, with the reason to report
        ended = await container.wait()                # Exit; the log is complete by then

    async for piece in logs.read(path, logs.Selection(tail=10, follow=True), ended=container.ended):
        ...                                           # bytes, whole lines
"""
