"""The page in a real browser: it draws, answers to the slider, fits a phone, and asks nothing of the network."""

from contextlib import contextmanager

import numpy as np
import pytest

from hrpursuit.reports import study_table, write_page


@contextmanager
def opened(browser, path, width=1400, scheme="light"):
    """The page at this width; at its end it must have said nothing on the console and fetched nothing."""
    context = browser.new_context(viewport={"width": width, "height": 850}, color_scheme=scheme)
    page = context.new_page()
    page.set_default_timeout(10_000)
    said, asked = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready]")
    page.wait_for_function("(width) => innerWidth === width", arg=width)
    settled(page)
    yield page
    assert said == []
    assert asked == [path.as_uri()]
    context.close()


def pixels(page, name):
    return page.evaluate(f"document.getElementById('map-{name}').toDataURL()")


def settled(page):
    """What a change of the slider draws is drawn in the next frame."""
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def test_slider_changes_figures_and_pictures(browser, page_file, small_study):
    with opened(browser, page_file) as page:
        slider = page.get_by_role("slider")
        slider.focus()
        page.keyboard.press("Home")
        settled(page)
        seen = []
        for one in small_study.settings:
            figures = page.locator("#figures dd").all_inner_texts()
            assert figures[0] == f"{one.n_bytes:,}"
            assert slider.get_attribute("aria-valuetext") == f"{one.target}: {one.n_bytes:,} bytes"
            assert page.locator("#hours-rows tr").count() == len(one.hours)
            ring = page.locator("#chosen").evaluate("ring => [ring.getAttribute('cx'), ring.getAttribute('cy')]")
            seen.append((pixels(page, "readings"), pixels(page, "restored"), pixels(page, "residual"), ring, figures))
            page.keyboard.press("ArrowRight")
            settled(page)
        readings, restored, residuals, rings, figures = zip(*seen, strict=True)
        assert len(set(readings)) == 1
        assert len({one.max_error for one in small_study.settings}) <= len(set(residuals)) + 1
        exact = [one.max_error for one in small_study.settings].index(0)
        assert restored[exact] == readings[exact]
        coarse = len(seen) - 1
        assert restored[coarse] != readings[coarse]
        assert residuals[coarse] != residuals[exact]
        assert rings[coarse] != rings[exact]
        assert figures[coarse] != figures[exact]
        assert figures[exact][3:5] == ["0%", "0"]


def test_gaps_have_their_own_colour(browser, page_file, network):
    with opened(browser, page_file) as page:
        colour = page.evaluate("getComputedStyle(document.querySelector('i.gap')).backgroundColor")
        share = page.evaluate(
            """(colour) => {
                const gap = colour.match(/\\d+/g).map(Number);
                const canvas = document.getElementById("map-readings");
                const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
                let n = 0;
                for (let i = 0; i < data.length; i += 4) n += gap.every((part, j) => data[i + j] === part);
                return n / (data.length / 4);
            }""",
            colour,
        )
        gaps = network.isna().to_numpy().mean()
        assert 0.5 * gaps < share <= gaps  # the canvas has room for names and times as well


def test_names_are_text_and_cells_can_be_read(browser, page_file, network):
    with opened(browser, page_file) as page:
        page.get_by_role("slider").focus()
        page.keyboard.press("Home")
        page.get_by_role("button", name="as in the table").click()
        names = page.locator("#sensors .name").all_inner_texts()
        assert names == list(network.columns)
        assert page.locator("#sensors li.none").count() == 1
        page.get_by_role("button", name="largest error first").click()
        assert page.locator("#sensors .name").all_inner_texts()[-1] == "s7"
        box = page.locator("#map-readings").bounding_box()
        page.locator("#map-readings").hover(position={"x": box["width"] - 4, "y": 9})
        assert page.locator("#tip").inner_text().startswith("s1, 2024-03-07 23:00\nreading 3")


def test_hours_can_be_chosen(browser, page_file):
    with opened(browser, page_file) as page:
        page.get_by_role("slider").focus()
        page.keyboard.press("End")
        settled(page)
        first = page.locator("#across-title").inner_text()
        page.locator("#hours-rows button").nth(1).click()
        assert page.locator("#across-title").inner_text() != first
        assert page.locator("#hours-rows tr.on").count() == 1


@pytest.mark.parametrize("width", [320, 390, 768, 1400])
def test_nothing_is_wider_than_the_screen(browser, page_file, width):
    with opened(browser, page_file, width) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        slider = page.get_by_role("slider").bounding_box()
        assert slider["width"] > 0.8 * min(width, 1150)
        page.get_by_role("slider").focus()
        page.keyboard.press("End")
        settled(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_dark_mode_is_dark_and_follows_the_system(browser, page_file):
    with opened(browser, page_file, 390, "dark") as page:
        dark = pixels(page, "residual")
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert max(int(part) for part in background.removeprefix("rgb(").removesuffix(")").split(",")) < 60
        page.emulate_media(color_scheme="light")
        settled(page)
        assert pixels(page, "residual") != dark


ODD = {
    "constant": np.full((30, 3), 7.0),
    "only gaps": np.full((30, 3), np.nan),
    "one reading": np.array([[3.5]]),
    "one sensor": np.round(np.cumsum(np.random.default_rng(0).normal(size=(60, 1)), axis=0), 1),
    "tiny": 1e-9 * np.random.default_rng(0).normal(size=(40, 4)),
    "huge": 1e12 * np.random.default_rng(0).normal(size=(40, 4)),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_tables_can_be_looked_at(browser, name, tmp_path):
    write_page(study_table(ODD[name], None, []), tmp_path / "x.html", name)
    with opened(browser, tmp_path / "x.html", 390) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert not page.locator("#problem").is_visible()
        text = page.locator("body").inner_text()
        assert "NaN" not in text
        assert "undefined" not in text
        assert "Infinity" not in text


def test_bounds_of_the_sensors_and_notes_can_be_read(browser, tmp_path):
    table = np.round(np.random.default_rng(0).normal(size=(40, 3)).cumsum(axis=0) * [0.001, 1, 100], 3)
    targets = [{"max_error": {0: 0.01, 1: "lossless", None: 250}}, {"relative_rmse": 0.05}]
    write_page(study_table(table, targets, []), tmp_path / "x.html", "mixed")
    with opened(browser, tmp_path / "x.html", 390) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.get_by_role("slider").focus()
        page.keyboard.press("Home")
        page.get_by_role("button", name="as in the table").click()
        settled(page)
        bars = page.locator("#sensors li").all_inner_texts()
        endings = [text.split(" · ")[-1].partition("max ")[2] for text in bars]
        assert endings[0].endswith(" of ±0.01")
        assert endings[1] == "0, lossless"
        assert endings[2].endswith(" of ±250")
        page.get_by_role("slider").focus()
        page.keyboard.press("End")
        settled(page)
        assert "±" not in page.locator("#sensors").inner_text()
        assert "relative error of their own" in page.locator("#notes").inner_text()


@pytest.mark.long
def test_a_large_table_is_thinned_and_says_so(browser, tmp_path):
    table = np.round(np.cumsum(np.random.default_rng(0).normal(size=(6200, 6)), axis=0))
    write_page(study_table(table, [{"lossless": True}], []), tmp_path / "x.html", "long")
    with opened(browser, tmp_path / "x.html") as page:
        assert "every 4th time step" in page.locator("#maps-note").inner_text()
        assert page.evaluate("document.getElementById('map-readings').clientWidth") > 1000
        assert page.get_by_role("slider").is_disabled()
