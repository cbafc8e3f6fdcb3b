"""What the API server itself says it was asked to write."""

import re
from collections import Counter

from prometheus_client.parser import text_string_to_metric_families

from aim_engine.kube.client import Client

WRITES = frozenset({"POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"})
OWN_AFFAIRS = re.compile("leases|nodes/status|tokenreviews|subjectaccessreviews|serviceaccounts/token")
"""What a control plane and its nodes write though nothing happens."""


async def writes(client: Client) -> Counter[str]:
    """Every write so far that succeeded, as `verb resource`; what the server does for itself is left out."""
    text = (await client.read("/metrics")).decode()
    lines = (line for line in text.splitlines() if line.startswith("apiserver_request_total{"))
    counts: Counter[str] = Counter()
    for family in text_string_to_metric_families("\n".join(lines)):
        for sample in family.samples:
            labels = sample.labels
            below = f"/{labels['subresource']}" if labels["subresource"] else ""
            what = f"{labels['resource']}{below}"
            if labels["verb"] in WRITES and labels["code"].startswith("2") and not OWN_AFFAIRS.search(what):
                counts[f"{labels['verb']} {what}"] += int(sample.value)
    return counts
