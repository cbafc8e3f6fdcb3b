"""The reference says everything there is to say: what the code can show to users is in its pages."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from aim_engine.api import kinds, names, reasons

ROOT = Path(__file__).parents[2]
DOCS, SOURCE = ROOT / "docs", ROOT / "src" / "aim_engine"
WORD = re.compile(r"([A-Z][A-Za-z0-9]*[a-z0-9]){2,}")

NO_REASONS = {
    # kinds of others, and their conditions, reasons and fields that are only read
    *("AbleToScale", "BackoffLimitExceeded", "CrashLoopBackOff", "CreateContainerConfigError", "CreateContainerError"),
    *("DeadlineExceeded", "ErrImageNeverPull", "ErrImagePull", "HorizontalPodAutoscaler", "InferenceService"),
    *("InvalidImageName", "PersistentVolumeClaim", "PodScheduled", "ProvisioningFailed", "ResolvedRefs", "RoleBinding"),
    *("ReplicaSet", "RunContainerError", "ScalingActive", "ServerTimeout", "ServiceAccount"),
    # patterns in the logs of downloads
    *("InvalidAccessKeyId", "NoCredentialProviders", "NoSuchBucket", "NoSuchKey", "RepositoryNotFoundError"),
    "SignatureDoesNotMatch",
    # categories, which decide what happens but are not shown
    *("MissingDownstream", "MissingUpstream", "ResourceExhaustion"),
    # of a route that is missing; a service says HTTPRouteCreating instead
    "HTTPRouteNotFound",
}


def literals(*packages: str) -> Iterator[str]:
    """Every string constant of some packages."""
    for package in packages:
        for file in (SOURCE / package).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield node.value


def text(page: str) -> str:
    return (DOCS / page).read_text()


def test_every_kind_has_a_page_of_its_own() -> None:
    navigation = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]
    concepts = next(entry["Concepts"] for entry in navigation if "Concepts" in entry)
    pages = {name: page for entry in concepts for name, page in entry.items()}
    assert set(pages) == {kind.name for kind in kinds.KINDS}
    for name, page in pages.items():
        title = text(page).splitlines()[0]
        assert title.startswith(f"# {name}"), f"{page} begins with {title}"
        assert f"kind: {name}" in text(page), f"{page} shows no {name}"


def test_every_page_is_in_the_navigation() -> None:
    listed = (ROOT / "mkdocs.yml").read_text()
    pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md") if page.parent.name != "decisions"}
    assert sorted(page for page in pages if page not in listed) == []


def test_every_reason_that_the_operator_gives_is_explained() -> None:
    known = {value for name, value in vars(reasons).items() if name.isupper()}
    used = {word for word in literals("core", "controllers") if WORD.fullmatch(word)}
    shown = {word for word in known | used if word not in NO_REASONS and word not in kinds.BY_NAME}
    page = text("reference/conditions.md")
    components = {word for word in shown if f"{word}Ready" in page}
    assert sorted(word for word in shown - components if f"`{word}`" not in page) == []


def test_every_variable_is_listed() -> None:
    used = {word for word in literals("") if re.fullmatch(r"AIM_[A-Z_]*[A-Z]", word)} - {"AIM_MOUNTS"}  # of image books
    pages = text("reference/environment.md") + text("reference/flags.md")
    assert sorted(name for name in used if f"`{name}`" not in pages) == []


@pytest.mark.parametrize(
    "name", sorted(name for name in vars(names) if name.startswith(("LABEL_", "ANNOTATION_", "FINALIZER_")))
)
def test_every_label_annotation_and_finalizer_is_listed(name: str) -> None:
    key, page = getattr(names, name), text("reference/labels.md")
    short = f"`/{key.removeprefix(names.GROUP + '/')}`"
    assert f"`{key}`" in page or f"`{key}:" in page or short in page, key


def test_symptoms_are_told_in_the_operators_own_words() -> None:
    said = "\n".join(literals("core", "controllers"))
    symptoms = re.findall(r"^\| [^|]*?`([^`|]*)`", text("troubleshooting.md"), re.MULTILINE)
    symptoms += re.findall(
        r"^(\S* ?[A-Z].*)$", "\n".join(re.findall(r"```text\n(.*?)```", text("troubleshooting.md"), re.S)), re.M
    )
    sentences = [symptom for symptom in symptoms if len(symptom.split()) >= 3]
    assert len(sentences) >= 15
    for sentence in sentences:
        parts = re.split(r"…|\b[XN]\b|\(?\d+\w*\)?|'[^']*'|\"[^\"]*\"|MI\w+", sentence)
        longest = max((part.strip(" .,:") for part in parts), key=len)
        assert longest in said, f"nobody says {longest!r}"
