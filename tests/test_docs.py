"""The pages of docs/ do what they say: their code runs and prints what stands below it, their commands exist, and the
questions of the start page have answers.
"""

import re
from pathlib import Path

import click
import pytest

from hrpursuit.cli.main import commands

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md") if "commands" not in path.parts)
#: Pages with a test of their own, which prepares what their code needs or looks closer at what it gives.
OWN_TEST = {"how_to/coming_from.md", "how_to/compress.md", "how_to/larger_than_memory.md", "how_to/cluster.md"}
OWN_TEST |= {"how_to/streams.md", "explanation/scale.md", "reference/format.md", "reference/wire.md"}


def code(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", (DOCS / page).read_text(), flags=re.DOTALL | re.MULTILINE)


@pytest.mark.long
@pytest.mark.parametrize("page", [page for page in PAGES if code(page, "python") and page not in OWN_TEST])
def test_code_runs_and_prints_what_stands_below_it(page, run_page):
    run_page(page)


@pytest.mark.parametrize("page", [page for page in PAGES if code(page, "sh")])
def test_commands_and_options_exist(page):
    for block in code(page, "sh"):
        for line in block.replace("\\\n", " ").splitlines():
            for call in re.findall(r"(?:^|\| |&& )hrpursuit ([^|&#]*)", line):
                check(call.split())


def check(words):
    command, context = commands, click.Context(commands)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        name = words.pop(0)
        command = command.get_command(context, name)
        assert command is not None, name
    known = {
        option for parameter in command.get_params(context) for option in [*parameter.opts, *parameter.secondary_opts]
    }
    used = {word.split("=")[0] for word in words if re.match(r"--?[a-z]", word)}
    assert used <= known, (command.name, used - known)


def test_files_that_pages_name_exist():
    for page in PAGES:
        text = (DOCS / page).read_text()
        for name in re.findall(r"`(?:python )?((?:benchmarks|examples|tests)/[\w/.]*\w)`?", text):
            assert (ROOT / name).exists(), (page, name)


def questions():
    text = (DOCS / "index.md").read_text().split("## Questions")[1]
    return re.findall(r"^- \[(.+?\?)\]\((.+?)\)$", text, flags=re.MULTILINE)


def test_thirty_questions_have_answers():
    found = questions()
    assert len(found) == len({question for question, _ in found}) == 30
    for question, target in found:
        path, _, anchor = target.partition("#")
        text = (DOCS / path).read_text()
        titles = {slug(title) for title in re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)}
        assert not anchor or anchor in titles, question


def slug(title):
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def test_output_below_code_is_compared(run_page, tmp_path, monkeypatch):
    """The mechanism itself can fail."""
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n")
    with pytest.raises(AssertionError, match="line 1"):
        run_page(page)
    page.write_text("```python\nprint(1 + 1, 0.123)\n```\n\n```text\n2 0.1...\n```\n")
    run_page(page)
