"""An autoscaler for the local cluster: what KEDA, its OpenTelemetry scaler and the HPA controller do together.

ScaledObject ──► HorizontalPodAutoscaler keda-hpa-<name>, owned by it
                    │ metrics, read from the pods themselves every few seconds
                    ▼
                 Deployment/scale, and the statuses of both

objects    what it reads of the cluster
measuring  metrics of pods, as the OpenTelemetry scaler adds them up
scaling    how many replicas: values in, values out
manifests  what it writes
running    the program
"""

from aim_engine.local.stand_ins.autoscaler.running import run

__all__ = ["run"]
