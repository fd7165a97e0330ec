"""Figures in the README and on the site are those of benchmarks/results, and none in the README is typed by hand."""

import importlib
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
UNITS = r"(?:%|times\b|dB\b|bytes\b|ms\b|MB\b|kB\b|seconds\b|minutes\b)"


@pytest.fixture(scope="module")
def figures():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        yield importlib.import_module("figures")


def test_pages_have_the_figures_of_the_last_run(figures):
    for path in figures.pages():
        assert figures.filled(path.read_text()) == path.read_text(), "run python benchmarks/figures.py"


def test_a_page_that_differs_from_its_data_is_seen(figures, tmp_path, monkeypatch, capsys):
    (tmp_path / "README.md").write_text("false: <!-- figure: n_false_certificates -->7<!-- end --> of many\n")
    monkeypatch.setattr(figures, "ROOT", tmp_path)
    monkeypatch.setattr("sys.argv", ["figures.py", "--check"])
    with pytest.raises(SystemExit):
        figures.main()
    assert "README.md: differs" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["figures.py"])
    figures.main()
    assert "-->0<!--" in (tmp_path / "README.md").read_text()


def test_tables_stand_apart_from_the_text_around_them(figures, monkeypatch):
    monkeypatch.setitem(figures.FIGURES, "small", lambda: "| a |\n| --- |\n| 1 |")
    text = figures.filled("before\n\n<!-- figure: small -->old<!-- end -->\n")
    assert text == "before\n\n<!-- figure: small -->\n\n| a |\n| --- |\n| 1 |\n\n<!-- end -->\n"
    assert figures.filled(text) == text


def test_a_figure_that_does_not_exist_is_named(figures):
    with pytest.raises(KeyError, match="no figure 'nothing'"):
        figures.filled("<!-- figure: nothing --><!-- end -->")


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(1037, 2, "1,037"), (0.2204, 2, "0.22"), (3.1e-15, 2, "3e-15"), (0.0, 2, "0"), (13.7, 3, "13.7"), (9.96, 2, "10")],
)
def test_numbers_are_written_as_people_do(figures, value, digits, text):
    assert figures.number(value, digits) == text


def test_one_row_is_found_or_an_error_says_how_many(figures, tmp_path, monkeypatch):
    table = {"header": ["case", "error", "error"], "rows": [["a", 1, 2], ["b", 3, 4], ["b", 5, 6]]}
    (tmp_path / "made.json").write_text(json.dumps({"figures": {"a table": table}}))
    monkeypatch.setattr(figures, "RESULTS", tmp_path)
    assert figures.row("made", "a tab", case="a") == {"case": "a", "error": 1, "error 2": 2}
    with pytest.raises(KeyError, match="found 2"):
        figures.row("made", "a table", case="b")
    with pytest.raises(KeyError, match="begins with 'no such'"):
        figures.rows("made", "no such")
    with pytest.raises(FileNotFoundError, match=r"run python benchmarks/absent\.py"):
        figures.record("absent")


def measured(text):
    """Figures with a unit in prose and tables, outside code and outside the marks."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    text = re.sub(r"<!-- figure: .*?<!-- end -->", "", text, flags=re.DOTALL)
    text = re.sub(r"!?\[[^\]]*\]\([^)]*\)|`[^`]*`", "", text)
    return re.findall(rf"\d[\d.,]*\s?{UNITS}", text)


#: Numbers with a unit in the prose of a page that are settings, limits, or facts of a set of data; all others come from
#: benchmarks. The formats and the rerun of the paper are not looked at: they are full of such numbers.
SETTINGS = {
    "explanation/certificate.md": ["7%", "40%", "25%"],
    "explanation/denoiser.md": ["1%", "99%", "1.5 times", "90%", "1.5 times", "262,144 times"],
    "explanation/limits.md": ["7%", "60%", "262,144 times"],
    "explanation/method.md": ["65%", "0.3 times", "6 dB", "0 dB", "1%", "22.5%"],
    "explanation/online.md": ["8 times"],
    "explanation/scale.md": ["100 MB", "4 GB", "1 ms", "1 GB", "32.8 kB"],
    "how_to/compress.md": ["1%", "5%", "20%", "5 times", "100 times", "33 bytes"],
    "how_to/larger_than_memory.md": ["8 MB"],
    "how_to/live.md": ["1%", "8 bytes"],
    "tutorials/researcher.md": ["30%"],
}
NOT_LOOKED_AT = {"reference/format.md", "reference/wire.md", "reference/experiments.md"}


def test_no_result_is_typed_by_hand():
    assert measured("it takes 3 ms, or `5 ms`, and <!-- figure: a -->0.2 times<!-- end --> that") == ["3 ms"]
    assert not measured((ROOT / "README.md").read_text())
    docs = ROOT / "docs"
    for path in sorted(docs.glob("*/*.md")):
        page = path.relative_to(docs).as_posix()
        if page not in NOT_LOOKED_AT and path.parent.name != "gallery":
            typed = set(measured(path.read_text())) - set(SETTINGS.get(page, ()))
            assert not typed, f"{page}: {sorted(typed)}: write the figure of a benchmark, or list it as a setting"
