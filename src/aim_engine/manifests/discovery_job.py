"""The Job that asks an image which profile and weights it has for a template."""

from datetime import timedelta
from math import ceil
from typing import Any

import msgspec

from aim_engine.api import names
from aim_engine.core import discovery
from aim_engine.core.discovery import Question
from aim_engine.objects import Manifest, ObjectMeta


def build(template: ObjectMeta, question: Question, namespace: str, kept_for: timedelta) -> Manifest:
    """One dry run, never repeated by Kubernetes itself; when it has ended it is kept for a while."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": question.job_name(template.name),
            "namespace": namespace,
            "labels": discovery.labels(template.name),
        },
        "spec": {
            "backoffLimit": 0,
            "ttlSecondsAfterFinished": ceil(kept_for.total_seconds()),
            "template": {
                "metadata": {"labels": {names.LABEL_TEMPLATE: discovery.template_label(template.name)}},
                "spec": pod(question),
            },
        },
    }


def pod(question: Question) -> Manifest:
    access = question.access
    secrets = [{"name": name} for name in access.pull_secrets]
    env: Any = msgspec.to_builtins(question.env)
    return {
        "restartPolicy": "Never",
        **({"serviceAccountName": access.service_account} if access.service_account else {}),
        **({"imagePullSecrets": secrets} if secrets else {}),
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [
            {
                "name": discovery.CONTAINER,
                "image": question.subject.image,
                "args": ["dry-run", "--format=json"],
                "env": env,
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "runAsNonRoot": True,
                    "capabilities": {"drop": ["ALL"]},
                },
            }
        ],
    }
