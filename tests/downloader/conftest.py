"""Fixtures: a hub, an S3 server, an API server and a volume for every test that asks."""

import asyncio
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.config import Config
from botocore.session import get_session
from tests.downloader import stage

from aim_engine.local import binaries


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[stage.Hub]:
    with stage.hub(tmp_path / "hub") as running:
        yield running


@pytest.fixture
def volume(tmp_path: Path) -> stage.Volume:
    """A volume and the environment of a container, without a hub."""
    scratch = tmp_path / "scratch"
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(scratch),
        "TMPDIR": str(scratch),
        "HF_HOME": str(scratch / "hf"),
        "TARGET_DIR": str(tmp_path / "volume"),
        "PROGRESS_INTERVAL": "0.1",
        "HF_XET_CLIENT_RETRY_MAX_ATTEMPTS": "0",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    return stage.Volume(tmp_path / "volume", environment)


@pytest.fixture
def hub_volume(volume: stage.Volume, hub: stage.Hub) -> stage.Volume:
    """A volume of a container that reaches the hub."""
    volume.environment |= {"HF_ENDPOINT": hub.url, "AIM_DOWNLOADER_PROTOCOL": "HTTP"}
    return volume


@pytest.fixture(scope="session")
def s3_binary() -> Path:
    return asyncio.run(binaries.find("versitygw"))


@pytest.fixture(scope="session")
def s3_address(s3_binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with stage.s3_server(s3_binary, tmp_path_factory.mktemp("s3")) as address:
        yield address


class Objects:
    """A bucket of the test's own on the S3 server."""

    def __init__(self, address: str, authority: str | None = None, name: str = "") -> None:
        self.client: Any = get_session().create_client(
            "s3",
            endpoint_url=address,
            verify=authority,
            region_name="us-east-1",
            aws_access_key_id=stage.S3_KEY,
            aws_secret_access_key=stage.S3_SECRET,
            config=Config(s3={"addressing_style": "path"}),
        )
        self.name = name or f"weights-{uuid.uuid4().hex[:12]}"
        self.client.create_bucket(Bucket=self.name)

    def add(self, prefix: str, files: dict[str, bytes]) -> str:
        """Put objects below a prefix; return the URI."""
        for path, content in files.items():
            self.client.put_object(Bucket=self.name, Key=f"{prefix}/{path}", Body=content)
        return f"s3://{self.name}/{prefix}"

    def add_in_parts(self, key: str, parts: list[bytes]) -> None:
        """Upload one object in parts, as tools do with large files."""
        where = {"Bucket": self.name, "Key": key}
        upload = self.client.create_multipart_upload(**where)["UploadId"]
        done = [
            {
                "PartNumber": number,
                "ETag": self.client.upload_part(**where, UploadId=upload, PartNumber=number, Body=part)["ETag"],
            }
            for number, part in enumerate(parts, 1)
        ]
        self.client.complete_multipart_upload(**where, UploadId=upload, MultipartUpload={"Parts": done})


@pytest.fixture
def objects(s3_address: str) -> Iterator[Objects]:
    bucket = Objects(s3_address)
    yield bucket
    bucket.client.close()


@pytest.fixture
def s3_volume(volume: stage.Volume, s3_address: str) -> stage.Volume:
    """A volume of a container that reaches the S3 server with the right keys."""
    volume.environment |= {
        "AWS_ENDPOINT_URL": s3_address,
        "AWS_ACCESS_KEY_ID": stage.S3_KEY,
        "AWS_SECRET_ACCESS_KEY": stage.S3_SECRET,
    }
    return volume


@pytest.fixture
def api_server(tmp_path: Path, volume: stage.Volume) -> Iterator[stage.ApiServer]:
    """An API server that the volume's container reaches with its service account."""
    with stage.api_server(tmp_path / "account") as peer:
        volume.environment |= {
            "KUBERNETES_SERVICE_HOST": "127.0.0.1",
            "KUBERNETES_SERVICE_PORT": str(peer.port),
            "SERVICE_ACCOUNT_DIR": str(tmp_path / "account"),
            "ARTIFACT_NAME": "qwen",
            "ARTIFACT_NAMESPACE": "ml-team",
        }
        yield peer
