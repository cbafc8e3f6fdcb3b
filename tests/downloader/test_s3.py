"""s3:// against a real S3 server."""

import random
from pathlib import Path

import pytest
from tests.downloader.conftest import Objects
from tests.downloader.stage import (
    S3_KEY,
    S3_SECRET,
    ApiServer,
    Volume,
    certificate,
    ended,
    s3_server,
    slow_way,
    until,
)

MIB = 1024 * 1024
OBJECTS = {
    "config.json": b"{}",
    ".hidden": b"seen",
    "empty": b"",
    "a b+c%25ü.txt": b"odd name",
    "deep/er/model.safetensors": random.Random(3).randbytes(3 * MIB + 5),
}


def test_everything_below_a_prefix_arrives_and_nothing_else(objects: Objects, s3_volume: Volume) -> None:
    uri = objects.add("models/qwen", OBJECTS)
    objects.add("models/qwen-other", {"foreign": b"x"})
    objects.add("models/qwen", {"folder/": b"", "deep/er/": b""})
    outcome = s3_volume.run(f"{uri}/")
    assert outcome.code == 0, outcome.log
    assert s3_volume.files() == OBJECTS
    assert s3_volume.leftovers() == []
    assert outcome.out.splitlines()[-1] == "Sync complete"


def test_a_whole_bucket_arrives(objects: Objects, s3_volume: Volume) -> None:
    objects.add("models", {"config.json": b"{}"})
    assert s3_volume.run(f"s3://{objects.name}").code == 0
    assert s3_volume.files() == {"models/config.json": b"{}"}


def test_an_object_that_was_uploaded_in_parts_is_compared_by_its_parts(objects: Objects, s3_volume: Volume) -> None:
    parts = [random.Random(number).randbytes(5 * MIB) for number in range(2)] + [b"the end"]
    objects.add_in_parts("big/model.safetensors", parts)
    assert s3_volume.run(f"s3://{objects.name}/big").code == 0
    assert s3_volume.files() == {"model.safetensors": b"".join(parts)}


def test_asking_for_the_parts_of_many_objects_is_no_stall(objects: Objects, s3_volume: Volume, s3_address: str) -> None:
    """One page lists them all, and then each costs a question of its own."""
    for number in range(8):
        objects.add_in_parts(f"big/{number}", [b"one part"])
    with slow_way(s3_address, 100 * MIB, rest=2.0) as way:
        outcome = s3_volume.run(f"s3://{objects.name}/big", AWS_ENDPOINT_URL=way.address, STALL_TIMEOUT="15")
    assert outcome.code == 0, outcome.log
    assert s3_volume.files() == {str(number): b"one part" for number in range(8)}


def test_progress_has_no_protocol(objects: Objects, s3_volume: Volume, api_server: ApiServer) -> None:
    assert s3_volume.run(objects.add("models", OBJECTS), AIM_DOWNLOADER_PROTOCOL="XET,HTTP").code == 0
    assert api_server.statuses("download") == []
    assert api_server.statuses("progress")[-1]["percentage"] == 100


def test_a_second_run_compares_checksums_and_mends_what_differs(objects: Objects, s3_volume: Volume) -> None:
    uri = objects.add("models", OBJECTS)
    assert s3_volume.run(uri).code == 0
    damaged = s3_volume.path / "deep/er/model.safetensors"
    damaged.write_bytes(bytes(damaged.stat().st_size))
    assert s3_volume.run(uri).code == 0
    assert s3_volume.files() == OBJECTS


def test_no_tls_by_switch(objects: Objects, s3_volume: Volume, s3_address: str) -> None:
    uri = objects.add("models", {"config.json": b"{}"})
    bare = s3_address.removeprefix("http://")
    assert s3_volume.run(uri, AWS_ENDPOINT_URL=bare, S3_NO_SSL="true").code == 0
    assert s3_volume.files() == {"config.json": b"{}"}


def test_a_store_with_a_certificate_of_its_own_is_trusted_when_its_authority_is_named(
    s3_binary: Path, volume: Volume, tmp_path: Path
) -> None:
    certificate(tmp_path)
    options = ("--cert", str(tmp_path / "ca.crt"), "--key", str(tmp_path / "key.pem"))
    with s3_server(s3_binary, tmp_path / "s3", *options) as address:
        secure = address.replace("http://", "https://")
        bucket = Objects(secure, str(tmp_path / "ca.crt"))
        uri = bucket.add("models", OBJECTS)
        keys = {"AWS_ENDPOINT_URL": secure, "AWS_ACCESS_KEY_ID": S3_KEY, "AWS_SECRET_ACCESS_KEY": S3_SECRET}
        refused = volume.run(uri, **keys)
        assert (refused.code, refused.reason) == (69, "PodFailed"), refused.log
        outcome = volume.run(uri, **keys, SSL_CERT_FILE=str(tmp_path / "ca.crt"))
        bucket.client.close()
    assert outcome.code == 0, outcome.log
    assert volume.files() == OBJECTS


@pytest.mark.parametrize(
    ("uri", "variables", "line", "code", "reason"),
    [
        pytest.param(
            "s3://no-such-bucket-here/x", {}, "S3 error: 404 (NoSuchBucket)", 12, "SourceNotFound", id="bucket"
        ),
        pytest.param("s3://{bucket}/nothing", {}, "S3 error: 404 (NoSuchKey)", 12, "SourceNotFound", id="prefix"),
        pytest.param(
            "s3://{bucket}/models",
            {"AWS_SECRET_ACCESS_KEY": "another-secret-key"},
            "S3 error: 403 (SignatureDoesNotMatch)",
            77,
            "AuthError",
            id="wrong secret",
        ),
        pytest.param(
            "s3://{bucket}/models",
            {"AWS_ACCESS_KEY_ID": "nobody"},
            "S3 error: 403 (InvalidAccessKeyId)",
            77,
            "AuthError",
            id="unknown key",
        ),
        pytest.param(
            "s3://{bucket}/models",
            {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""},
            "S3 error: 403 (AccessDenied)",
            77,
            "AuthError",
            id="no credentials",
        ),
    ],
)
def test_a_failure_tells_what_is_wrong(
    objects: Objects, s3_volume: Volume, uri: str, variables: dict[str, str], line: str, code: int, reason: str
) -> None:
    objects.add("models", {"config.json": b"{}"})
    outcome = s3_volume.run(uri.format(bucket=objects.name), **variables)
    assert line in outcome.err
    assert (outcome.code, outcome.reason) == (code, reason), outcome.log
    assert S3_SECRET not in outcome.log and "another-secret-key" not in outcome.log
    assert list(s3_volume.path.iterdir()) == []


@pytest.mark.parametrize(
    ("endpoint", "shown"),
    [
        pytest.param("minio_svc:9000", "https://minio_svc:9000", id="a name that no host has"),
        pytest.param("http://[::1", "http://[::1", id="half an address"),
        pytest.param("me:password@minio_svc:9000", "https://***@minio_svc:9000", id="a credential in it"),
    ],
)
@pytest.mark.parametrize("program", [(), ("check-size",)], ids=["download", "check-size"])
def test_an_endpoint_that_is_no_address_is_told(
    volume: Volume, program: tuple[str, ...], endpoint: str, shown: str
) -> None:
    outcome = volume.run(*program, "s3://bucket/models", AWS_ENDPOINT_URL=endpoint)
    assert (outcome.code, outcome.reason) == (1, "PodFailed"), outcome.log
    assert f"Error: AWS_ENDPOINT_URL is {shown}, which is no address of a server; write https://" in outcome.err
    for unwanted in ("password", "Traceback", "ended by signal"):
        assert unwanted not in outcome.log


def test_the_check_size_program_adds_up_a_prefix(objects: Objects, s3_volume: Volume) -> None:
    uri = objects.add("models", OBJECTS)
    outcome = s3_volume.run("check-size", uri)
    size = sum(map(len, OBJECTS.values()))
    assert (outcome.code, outcome.out.splitlines()[-1]) == (0, f'{{"url":"{uri}","sizeBytes":{size}}}')


def test_the_check_size_program_tells_a_missing_bucket(s3_volume: Volume) -> None:
    outcome = s3_volume.run("check-size", "s3://no-such-bucket-here/x")
    assert (outcome.code, outcome.reason) == (1, "SourceNotFound")
    assert "Error: s3cmd failed for s3://no-such-bucket-here/x" in outcome.err
    assert outcome.out == ""


def test_the_monitor_alone_asks_the_store_what_to_expect(objects: Objects, s3_volume: Volume) -> None:
    uri = objects.add("models", OBJECTS)
    process = s3_volume.start("progress-monitor", uri, str(s3_volume.path))
    assert process.stderr
    first = process.stderr.readline()
    process.terminate()
    ended(process)
    assert f"Progress monitor started: expected={sum(map(len, OBJECTS.values()))} bytes" in first


def test_an_object_that_was_interrupted_goes_on_where_it_stopped(
    objects: Objects, s3_volume: Volume, s3_address: str
) -> None:
    uri = objects.add("models", OBJECTS)
    with slow_way(s3_address, 2 * MIB) as way:
        process = s3_volume.start(uri, AWS_ENDPOINT_URL=way.address)
        until(lambda: s3_volume.arrived() >= MIB)
        process.terminate()
        assert ended(process).code == 143
        arrived = s3_volume.arrived()
        way.carried, way.rate = 0, 100 * MIB
        outcome = s3_volume.run(uri, AWS_ENDPOINT_URL=way.address)
        assert outcome.code == 0, outcome.log
        headers_and_listing = 64 * 1024
        assert way.carried <= sum(map(len, OBJECTS.values())) - arrived + headers_and_listing
    assert s3_volume.files() == OBJECTS
    assert s3_volume.leftovers() == []


def test_what_an_earlier_pod_fetched_goes_if_the_source_no_longer_has_it_and_what_others_left_stays(
    objects: Objects, s3_volume: Volume, s3_address: str
) -> None:
    uri = objects.add("models", {**OBJECTS, "old/weights": b"old", "tokenizer": b"a file"})
    small = ["config.json", "old/weights", "tokenizer"]
    with slow_way(s3_address, 2 * MIB) as way:
        process = s3_volume.start(uri, AWS_ENDPOINT_URL=way.address)
        until(lambda: finished(s3_volume).issuperset(small))
        process.terminate()
        assert ended(process).code == 143
    (s3_volume.path / "notes.txt").write_text("mine")
    for key in ("models/old/weights", "models/tokenizer"):
        objects.client.delete_object(Bucket=objects.name, Key=key)
    objects.add("models", {"tokenizer/vocabulary": b"a directory"})
    outcome = s3_volume.run(uri)
    assert outcome.code == 0, outcome.log
    assert s3_volume.files() == {**OBJECTS, "tokenizer/vocabulary": b"a directory", "notes.txt": b"mine"}
    assert s3_volume.leftovers() == []


def finished(volume: Volume) -> set[str]:
    """The objects that a download keeps in mind as whole, until it ends well."""
    kept = volume.path / ".aim-download" / "finished"
    return {line.split(" ", 2)[2] for line in kept.read_text().splitlines()} if kept.exists() else set()
