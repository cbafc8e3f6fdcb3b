"""Everything on one machine: control plane, nodes, KServe, gateway, autoscaler, registry, hub, operator, a sample.

    aim up
      │ holds up.lock, tells what happens as `events`
      ├─ control plane    a supervisor of its own, which ends with this process
      ├─ hub, registry, node, KServe, gateway, autoscaler, operator: one child each, with a log of its own
      └─ sample service   applied once, followed until it answers

Whatever ends this process, the kernel ends its children; a child that ends by itself ends everything.
"""
