"""`aim crds`: write the CustomResourceDefinitions that the types of the API declare."""

from pathlib import Path

import click

from aim_engine.objects import Manifest

NOTICE = "# Made from src/aim_engine/api by `make crds`; change the types there, not this file.\n"


def files() -> dict[str, str]:
    """Name -> text of every CRD file."""
    from aim_engine.api import schema

    return {f"{crd['spec']['group']}_{crd['spec']['names']['plural']}.yaml": text(crd) for crd in schema.crds()}


def text(crd: Manifest) -> str:
    """One CRD as YAML."""
    import yaml

    body: str = yaml.safe_dump(crd, sort_keys=False, width=120, allow_unicode=True)
    return f"---\n{NOTICE}{body}"


def write(directory: Path) -> Path:
    """Write one file per kind into a directory; return it."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, content in files().items():
        (directory / name).write_text(content, encoding="utf-8")
    return directory


@click.command()
@click.option(
    "--directory",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write one file per kind into this directory instead of printing all of them.",
)
def command(directory: Path | None) -> None:
    """Write the CustomResourceDefinitions of AIM Engine.

    Without --directory they are printed, ready for `aim crds | kubectl apply -f -`.
    """
    if directory is None:
        click.echo("".join(files().values()), nl=False)
    else:
        write(directory)
