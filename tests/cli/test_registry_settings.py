"""Settings of registries that cannot be used end the operator with a sentence."""

import pytest
from click.testing import CliRunner

from aim_engine.cli.main import aim


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        pytest.param(
            {"AIM_REGISTRY_MIRRORS": "ghcr.io"},
            "aim operator: AIM_REGISTRY_MIRRORS: entry 1 is wrong: there is no '=' in it; expected host=base-url",
            id="mirrors",
        ),
        pytest.param(
            {"AIM_REGISTRY_CA_FILE": "/no/such/file"},
            "aim operator: AIM_REGISTRY_CA_FILE: /no/such/file cannot be read: No such file or directory",
            id="certificates",
        ),
    ],
)
def test_a_wrong_setting_is_told_before_the_cluster_is_asked(variables: dict[str, str], words: str) -> None:
    result = CliRunner().invoke(aim, ["operator", "--kubeconfig=/no/such/kubeconfig"], env=variables)
    assert result.exit_code == 1
    assert result.stderr.startswith(words)
