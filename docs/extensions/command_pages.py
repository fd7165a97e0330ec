"""A page for each command, made from what `--help` knows."""

from pathlib import Path

import click
from api_pages import write_if_new
from sphinx.application import Sphinx

from hrpursuit.cli.main import commands


def paragraphs(text: str) -> list[str]:
    r"""Help texts are paragraphs; those after \\b are kept line by line."""
    found = []
    for paragraph in (text or "").split("\n\n"):
        lines = [line.strip() for line in paragraph.splitlines() if line.strip()]
        if lines and lines[0] == "\b":
            found.append("```text\n" + "\n".join(lines[1:]) + "\n```")
        elif lines:
            found.append(" ".join(lines).replace("\f", ""))
    return found


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def options_of(command: click.Command, context: click.Context) -> list[str]:
    records = [option.get_help_record(context) for option in command.get_params(context)]
    rows = [
        f"| `{names.replace('|', chr(92) + '|')}` | {cell(text)} |" for names, text in filter(None, records) if text
    ]
    return ["| option | what it does |", "|---|---|", *rows]


def described(command: click.Command, name: str, level: int, parent: click.Context | None = None) -> list[str]:
    context = click.Context(command, info_name=name.rsplit(maxsplit=1)[-1], parent=parent)
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [f"{'#' * level} {name}", "", *("\n\n".join(paragraphs(command.help))).split("\n"), ""]
    lines += ["```text", f"{name} {usage}", "```", "", *options_of(command, context), ""]
    if isinstance(command, click.Group) and parent is not None:
        for child in command.list_commands(context):
            lines += described(command.get_command(context, child), f"{name} {child}", level + 1, context)
    return lines


def write_pages(app: Sphinx) -> None:
    folder = Path(app.srcdir) / "reference" / "commands"
    folder.mkdir(exist_ok=True)
    context = click.Context(commands, info_name="hrpursuit")
    names = commands.list_commands(context)
    toctree = ["```{toctree}", ":maxdepth: 1", "", *names, "```"]
    intro = ["# Command line", "", *("\n\n".join(paragraphs(commands.help or ""))).split("\n"), ""]
    write_if_new(folder / "index.md", "\n".join([*intro, *toctree]) + "\n")
    for name in names:
        text = "\n".join(described(commands.get_command(context, name), f"hrpursuit {name}", 1, context))
        write_if_new(folder / f"{name}.md", text)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
