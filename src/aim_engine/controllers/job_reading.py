"""Jobs as the kinds that make them look at them: with their pods, and the log that tells why one failed."""

from aim_engine.api.foreign import Job, Pod
from aim_engine.controllers.cluster import Cluster
from aim_engine.core import jobs, pods
from aim_engine.core.downloads import JobSeen
from aim_engine.core.pod_failure import LOG_LINES
from aim_engine.objects import Key

JOB_NAME = "job-name"


async def see_job(cluster: Cluster, key: Key) -> JobSeen:
    """A Job, its pods, and the end of the log of one that failed."""
    job = cluster.jobs.store.get(key)
    if job is None:
        return JobSeen()
    its_pods = [pod for pod in cluster.pods.store.labelled(JOB_NAME, key.name) if belongs(pod, job)]
    source = None if jobs.is_complete(job) else pods.wanted_log(its_pods)
    log = await cluster.log(Key(key.namespace, source.pod), source.container, tail=LOG_LINES) if source else None
    return JobSeen(job, its_pods, log)


def belongs(pod: Pod, job: Job) -> bool:
    """Whether a pod is of this very Job, not of an earlier one of the same name."""
    return pod.metadata.is_owned_by(job.metadata.uid)
