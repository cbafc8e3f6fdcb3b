"""The operator runtime: everything between a reconcile function and the API server. It knows nothing of AIM.

    kubeconfig ─> connection ─> transport ─> client      one call: credentials, deadline, errors, the fence
                                               │
                 informer ─> store, snapshot <─┤         the state of a kind, followed by list and watch
                    │ wakes                    │
                 controller <─> queue          │         keys, workers, back-off
                    │ reconcile(key)           │
                    ├─> applier, differs ──────┤         sends what differs
                    └─> events ────────────────┤         beside the pass
                 lease, lock ──────────────────┘         who may write

`runtime` runs the parts as one process; `timings` has every duration; `metrics` what is counted.
"""
