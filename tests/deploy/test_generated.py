"""Files that are made from others are as those are now; each failure names the command that mends it."""

import yaml
from scripts import api_reference, install_manifest
from tests.deploy.conftest import CHART, Helm

import aim_engine
from aim_engine.api import reference
from aim_engine.cli import crds


def test_the_charts_kinds_are_those_of_the_types() -> None:
    shipped = {file.name: file.read_text() for file in (CHART / "files" / "crds").iterdir()}
    assert shipped == crds.files(), "run `make crds`"


def test_the_rendered_installation_is_that_of_the_chart(helm: Helm) -> None:
    assert install_manifest.FILE.read_text() == install_manifest.render(helm.program), "run `make manifests`"


def test_the_api_reference_is_that_of_the_types() -> None:
    assert api_reference.FILE.read_text() == reference.markdown(), "run `make crds`"


def test_the_chart_is_of_the_same_version_as_the_program() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["version"] == chart["appVersion"] == aim_engine.__version__
