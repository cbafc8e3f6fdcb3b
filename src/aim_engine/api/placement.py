"""Node affinity: Kubernetes' own shape, embedded as it is."""

from typing import Annotated, ClassVar

from aim_engine.api.declare import ATOMIC_LIST, ATOMIC_MAP, INT32, Keywords, doc
from aim_engine.objects import Wire


class NodeSelectorRequirement(Wire):
    """A condition on one label or field of a node."""

    key: Annotated[str, doc("Label key or field that is looked at.")]
    operator: Annotated[str, doc("In, NotIn, Exists, DoesNotExist, Gt or Lt.")]
    values: Annotated[
        tuple[str, ...],
        ATOMIC_LIST,
        doc("Values to compare with: some for In and NotIn, none for Exists, one number for Gt and Lt."),
    ] = ()


class NodeSelectorTerm(Wire):
    """Conditions that must hold together."""

    KEYWORDS: ClassVar[Keywords] = ATOMIC_MAP

    match_expressions: Annotated[
        tuple[NodeSelectorRequirement, ...], ATOMIC_LIST, doc("Conditions on the labels of a node.")
    ] = ()
    match_fields: Annotated[
        tuple[NodeSelectorRequirement, ...], ATOMIC_LIST, doc("Conditions on the fields of a node.")
    ] = ()


class NodeSelector(Wire):
    """Terms of which one must hold."""

    KEYWORDS: ClassVar[Keywords] = ATOMIC_MAP

    node_selector_terms: Annotated[
        tuple[NodeSelectorTerm, ...], ATOMIC_LIST, doc("Terms; a node fits if one of them holds.")
    ]


class PreferredSchedulingTerm(Wire):
    """A wish with a weight."""

    weight: Annotated[int, INT32, doc("How much the wish counts, from 1 to 100.")]
    preference: Annotated[NodeSelectorTerm, doc("The nodes that are wished for.")]


class NodeAffinity(Wire):
    """Which nodes a pod must or should run on."""

    required_during_scheduling_ignored_during_execution: Annotated[
        NodeSelector | None, doc("Nodes the pod may be placed on; pods already running stay.")
    ] = None
    preferred_during_scheduling_ignored_during_execution: Annotated[
        tuple[PreferredSchedulingTerm, ...], ATOMIC_LIST, doc("Nodes to prefer among those.")
    ] = ()
