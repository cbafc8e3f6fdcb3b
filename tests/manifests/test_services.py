"""Manifests of services, compared with files that people have read: a new operator must not restart anybody's pods."""

import pytest
from tests.manifests.service_cases import CASES, FOLDER, path, rendered

RENEW = (
    "an upgrade would change what runs for every such service, and restart its pods;"
    " if that is meant, renew the files with `python -m tests.manifests.service_cases` and tell users in the changelog"
)


@pytest.mark.parametrize("name", CASES)
async def test_what_a_service_becomes_is_as_it_was(name: str) -> None:
    assert await rendered(*CASES[name]) == path(name).read_text(), RENEW


def test_every_file_belongs_to_a_case() -> None:
    assert {one.stem for one in FOLDER.iterdir()} == set(CASES)
