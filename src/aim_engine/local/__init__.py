"""A whole cluster on one machine: the real control plane, nodes that run containers as processes, and stand-ins."""
