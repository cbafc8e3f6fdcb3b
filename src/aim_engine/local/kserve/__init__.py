"""The real KServe controller beside a local control plane, as a process that ends with the one that started it.

await kserve.run(cluster, ready)

the caller                                  the controller (a child)
CRDs, namespace, inferenceservice-config
a certificate of an authority of its own
start it ─────────────────────────────────> connects as the cluster's administrator
wait for its /readyz <──────────────────────webhooks listen, controllers follow
webhook configurations by `url:`
one trial InferenceService, dry run ──────> API server ──> its webhooks answer
ready()
SIGTERM: webhook configurations away ─────> SIGTERM
"""

from aim_engine.local.kserve.running import run

__all__ = ["run"]
