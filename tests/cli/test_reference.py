"""The reference pages name every flag, variable and metric there is."""

from pathlib import Path

import pytest

from aim_engine import settings
from aim_engine.kube.metrics import Metrics

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


@pytest.mark.parametrize("name", settings.FLAGS)
def test_every_flag_is_on_its_page_with_its_default(name: str) -> None:
    default = settings.FLAGS[name].default
    shown = str(default).lower() if isinstance(default, bool) else default
    assert f"| `--{name}` | {f'`{shown}`' if shown else 'empty'} |" in (REFERENCE / "flags.md").read_text()


def test_every_metric_is_on_its_page() -> None:
    page = (REFERENCE / "metrics.md").read_text()
    families = [(one.name, one.type) for one in Metrics().registry.collect()]
    names = [f"{name}_total" if kind == "counter" else name for name, kind in families]
    assert [name for name in names if f"| `{name}` |" not in page] == []
