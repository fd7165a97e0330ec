"""Figures in the README and on the site are those of benchmarks/results, and none in the README is typed by hand."""

import importlib
import json
import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
UNITS = r"(?:%|(?:times|dB|bytes|bits|[kMGT]i?B|[µm]?s|seconds|minutes|hours|days|points|percent)\b)"


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
    """Figures in prose, tables, headings and captions, outside code and outside the marks: numbers with a unit, with a
    decimal point, or with a power of ten.
    """
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"<!-- figure: .*?<!-- end -->", "", text, flags=re.DOTALL)
    text = re.sub(r"\]\([^)]*\)|`[^`]*`", "", text)  # targets of links; their words and the captions of pictures stay
    number = r"\d[\d.,]*(?:e-?\d+)?"
    found = re.findall(rf"(?<![\w.])(?:{number}\s?{UNITS}|\d[\d,]*\.\d+(?:e-?\d+)?|\d+e-?\d+)", text)
    return [re.sub(r"\s+", " ", figure) for figure in found]


#: Numbers in the prose of a page that are settings, limits, versions, or facts of a set of data, each as often as it
#: occurs; all others come from benchmarks. The formats and the rerun of the paper are not looked at: they are full of
#: such numbers. The figures of the rerun come from `hrpursuit reproduce`.
SETTINGS = {
    "README.md": ["20%", "50%", "3.11"],
    "docs/explanation/certificate.md": ["2.5", "7%", "40%", "25%"],
    "docs/explanation/codec.md": ["12.3", "0.1", "12.3", "12.3", "273.15"],
    "docs/explanation/denoiser.md": [
        *("2.7", "1%", "99%", "1.5 times", "90%", "1.5", "1.5 times", "262,144 times", "1e8")
    ],
    "docs/explanation/limits.md": ["7%", "60%", "262,144 times"],
    "docs/explanation/method.md": [
        *("0.3", "0.65", "0.054", "65%", "50%", "0.3 times", "0.1", "1.5", "1e-15", "6 dB", "0 dB", "1%", "22.5%")
    ],
    "docs/explanation/online.md": ["8 times", "0.2", "1.2"],
    "docs/explanation/scale.md": [
        *("33.6", "0.045", "0.023", "100 MB", "4 GB", "1 ms", "1 GB", "0.045", "1 GB", "1 GB", "1 GB", "32.8 kB"),
        "26 GB",
    ],
    "docs/how_to/compress.md": [
        *("1%", "5%", "20%", "5 times", "100 times", "0.1", "1000.1", "1000.0", "0.10000000000002", "64 bits"),
        *("0.0", "0.0", "0.0", "12.3", "12.3", "64 bits", "33 bytes", "512 MiB"),
    ],
    "docs/how_to/larger_than_memory.md": ["1.0", "8 MB"],
    "docs/how_to/live.md": ["1%", "8 bytes"],
    "docs/how_to/upgrade.md": ["1.0", "1.0", "0.1"],
    "docs/index.md": ["20%", "50%"],
    "docs/start/install.md": ["3.11"],
    "docs/tutorials/images.md": ["8 bits"],
    "docs/tutorials/researcher.md": ["30%"],
    "examples/recovery/gaps.py": ["744 hours"],
    "examples/scaling/file_larger_than_memory.py": ["128 MB", "100 GB", "200 times", "8 MB"],
}
NOT_LOOKED_AT = {"docs/reference/format.md", "docs/reference/wire.md", "docs/reference/experiments.md"}
GENERATED = {"docs/gallery", "docs/reference/api", "docs/reference/commands", "docs/reference/results"}


def prose():
    """Every page with figures, and the text of the examples, which becomes pages of the gallery."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for path in pages:
        name = path.relative_to(ROOT).as_posix()
        if name not in NOT_LOOKED_AT and not any(name.startswith(folder + "/") for folder in GENERATED):
            yield name, path.read_text()
    for path in sorted((ROOT / "examples").rglob("*.py")):
        lines = re.findall(r"^# (?!%%)(.*)$", path.read_text(), flags=re.MULTILINE)
        yield path.relative_to(ROOT).as_posix(), "\n".join(lines).replace("``", "`")


def test_no_result_is_typed_by_hand():
    for page, text in prose():
        typed = Counter(measured(text)) - Counter(SETTINGS.get(page, ()))
        assert not typed, f"{page}: {sorted(typed)}: write the figure of a benchmark, or list it as a setting"


def test_settings_are_those_that_pages_have():
    pages = dict(prose())
    for page, settings in SETTINGS.items():
        assert not Counter(settings) - Counter(measured(pages[page])), page


@pytest.mark.parametrize(
    ("planted", "seen"),
    [
        ("A fit takes 3 ms, or `5 ms`.", ["3 ms"]),
        ("It is <!-- figure: a -->0.2 times<!-- end --> that, or 0.3\ntimes.", ["0.3 times"]),
        ("| method | error |\n| --- | --- |\n| HRP | 0.0067 |", ["0.0067"]),
        ("## Twice as fast: 40 MB", ["40 MB"]),
        ("- an error of [4e-16](limits.md#0.5)", ["4e-16"]),
        ("![The error falls\nto 1e-15 from 1.5 on.](pictures/a_2.5.png)", ["1e-15", "1.5"]),
        ("takes 0.04 to 1.9 s", ["0.04", "1.9 s"]),
        ("```python\nprint(0.5)  # 3 ms\n```", []),
    ],
    ids=["prose", "beside a mark", "table", "heading", "link", "caption", "range", "code"],
)
def test_a_figure_that_is_planted_is_seen(planted, seen):
    assert measured(f"# A page\n\n{planted}\n") == seen
