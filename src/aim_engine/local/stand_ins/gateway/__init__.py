"""A gateway for the local cluster: follows GatewayClasses, Gateways and HTTPRoutes, and passes requests on to pods.

    objects   what it reads of the cluster
    verdicts  which routes which gateway takes, and why not the others: the conditions that users read
    table     accepted routes, ordered as the Gateway API orders them: a request in, a rule and a backend out
    proxy     requests, answered by pods or by the gateway itself
    running   the program: informers, statuses, and a port

One address serves all Gateways; the ports of their listeners are names only. What the stand-in cannot do (filters other
than URLRewrite, matches by anything but the path) is refused in the route's conditions, as the Gateway API wants it.
"""

from aim_engine.local.stand_ins.gateway.running import run

__all__ = ["run"]
