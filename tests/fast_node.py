"""One node with a tenth of all its durations: `python -m tests.fast_node KUBECONFIG NAME`."""

import asyncio
import signal
import sys
from pathlib import Path

from aim_engine.local.container.book import read_books
from aim_engine.local.control_plane.local_cluster import cluster_of
from aim_engine.local.node import agent as node_agent
from aim_engine.local.node.agent import Agent
from aim_engine.local.node.capacity import Machine
from aim_engine.local.node.timings import Timings


async def main(kubeconfig: str, name: str) -> None:
    machine = Machine(name=name, model="MI300X", gpus=8)
    node_agent.LAST_WORDS = 60.0  # they are told on a busy machine too
    agent = Agent(cluster_of(Path(kubeconfig)), [machine], read_books(), Timings().scaled(0.1))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, agent.stop)
    await agent.run(lambda: None)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
