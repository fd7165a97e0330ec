"""The picture of a page in docs/pictures/report.png: `hrpursuit report` of a simulated month, in a browser.

python benchmarks/report_picture.py    # some minutes; needs pip install ".[test,rivals]" and chromium
"""

import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from hrpursuit.cli.main import run
from hrpursuit.datasets import make_sensor_network

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "report.png"
WIDTH = 1160


def make_page(folder: Path) -> Path:
    table, page = folder / "city.csv", folder / "city.html"
    make_sensor_network(as_frame=True, random_state=0).to_csv(table)
    if run(["report", str(table), "-o", str(page), "--title", "A simulated city"]):
        sys.exit(1)
    return page


def photograph(page: Path, out: Path) -> None:
    """Down to the legend of the first chart, the slider one step from its end."""
    browser_path = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        view = browser.new_context(viewport={"width": WIDTH, "height": 900}, color_scheme="light").new_page()
        view.goto(page.as_uri())
        view.wait_for_selector("html[data-ready]")
        view.get_by_role("slider").focus()
        view.keyboard.press("End")
        view.keyboard.press("ArrowLeft")
        view.wait_for_timeout(300)
        view.evaluate("document.getElementById('control').style.position = 'static'; document.activeElement.blur()")
        height = view.evaluate("document.getElementById('curves-legend').getBoundingClientRect().bottom + scrollY + 16")
        view.screenshot(path=out, full_page=True, clip={"x": 0, "y": 0, "width": WIDTH, "height": height})
        browser.close()


def main():
    with tempfile.TemporaryDirectory() as folder:
        shot = Path(folder) / "page.png"
        photograph(make_page(Path(folder)), shot)
        few_colours = Image.open(shot).convert("RGB").quantize(96, dither=Image.Dither.NONE)
        few_colours.save(PICTURE, optimize=True)
    print(f"{PICTURE}: {PICTURE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
