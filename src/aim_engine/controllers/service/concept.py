"""The declaration of AIMService."""

from aim_engine.api import names
from aim_engine.api.service import AIMService, AIMServiceStatus
from aim_engine.controllers.concept import Concept
from aim_engine.controllers.service.deletion import cleanup
from aim_engine.controllers.service.planning import plan
from aim_engine.controllers.service.reporting import status, with_retry
from aim_engine.controllers.service.seen import fetch
from aim_engine.controllers.service.view import observe
from aim_engine.controllers.service.wakes import Wakes
from aim_engine.core.conditions import SERVICE_WORDS
from aim_engine.core.service import of

SERVICES = Concept(
    kind=AIMService,
    controller="service",
    fetch=lambda item, cluster: fetch(of(item), cluster),
    observe=lambda item, seen, now: observe(of(item), seen, now),
    plan=lambda item, view: plan(of(item), view),
    status=lambda item, view, judgement: status(of(item), view, judgement),
    counts=with_retry,
    blank=AIMServiceStatus,
    wakes=lambda cluster: Wakes(cluster).all(),
    finalizers=(names.FINALIZER_SERVICE,),
    cleanup=cleanup,
    words=SERVICE_WORDS,
    force=True,
    announces=lambda view: view.announcements,
)
