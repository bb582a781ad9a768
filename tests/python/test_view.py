# SPDX-License-Identifier: Apache-2.0
"""The page of an image: well-formed, self-contained, with the pixels that the image has; drawn by a real browser where
there is one."""

import base64
import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import tessera as ts
from tessera import imaging as im

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

NODE = shutil.which("node")


class Page(HTMLParser):
    """Tags that open and close in order, and what they refer to."""

    def __init__(self, text):
        super().__init__()
        self.open, self.seen, self.links = [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href")]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("shape", [(1, 1), (5, 7), (3, 4, 6), (2, 1, 3, 4, 5)])
@pytest.mark.parametrize("kind", ["uint8", "int16", "float32", "complex128", "bool"])
def test_the_page_holds_the_image(shape, kind, rng, tmp_path):
    x = np.abs(90 * rng.standard_normal(shape)).astype(kind)
    x = x * (1 + 1j) if kind == "complex128" else x
    name = im.view(x, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    page = Page(text)
    assert name == str(tmp_path / "page.html") and "canvas" in page.seen and not page.links and "http" not in text
    top = float(np.abs(x).max())
    pixels = np.frombuffer(base64.b64decode(re.search(r'atob\("([^"]*)"\)', text)[1]), np.uint8)
    want = np.rint(255 * np.abs(x).astype(float) / (top or 1)).ravel()
    assert np.array_equal(pixels, want)
    sizes = re.search(r"const sizes = (\[.*?\]), rows = (\d+), columns = (\d+), top_value = (.*);", text)
    assert json.loads(sizes[1]) == [n for n in shape[:-2] if n > 1]
    assert (int(sizes[2]), int(sizes[3])) == shape[-2:] and float(sizes[4]) == top


def test_names_are_escaped_and_numbers_that_are_none_are_black(tmp_path):
    x = np.array([[np.nan, 1.0], [np.inf, 2.0]])
    np.save(tmp_path / "a<b>&@PIXELS@.npy", x)
    text = (tmp_path / im.view(tmp_path / "a<b>&@PIXELS@.npy")).read_text()
    Page(text)
    assert "a&lt;b&gt;&amp;@PIXELS@.npy" in text and "2 values that are not finite" in text
    assert base64.b64encode(bytes([0, 128, 0, 255])).decode() in text


def test_a_name_that_is_no_text(tmp_path):
    name = str(tmp_path / "a") + b"\xff<".decode("utf-8", "surrogateescape") + ".npy"
    np.save(name, np.ones((2, 3)))
    with open(im.view(name), encoding="utf-8") as file:
        text = file.read()
    Page(text)
    assert "a\N{REPLACEMENT CHARACTER}&lt;.npy" in text


def test_the_command(tmp_path):
    im.save_image(tmp_path / "x.nii.gz", np.ones((3, 4, 5)))
    command = [sys.executable, "-m", "tessera", "view"]
    done = subprocess.run([*command, tmp_path / "x.nii.gz"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.strip() == str(tmp_path / "x.nii.gz.html")
    Page((tmp_path / "x.nii.gz.html").read_text())
    failed = subprocess.run([*command, tmp_path / "none.npy"], capture_output=True, text=True)
    assert failed.returncode == 1 and "none.npy" in failed.stderr and failed.stderr.count("\n") == 1


def test_what_cannot_be_shown(tmp_path):
    for call, words in [
        (lambda: im.view(np.ones(3), "x.html"), r"shape \(3,\)"),
        (lambda: im.view(np.ones((0, 3)), "x.html"), "not empty"),
        (lambda: im.view(np.ones((3, 3))), "page="),
        (lambda: im.view(np.broadcast_to(np.uint8(1), (1 << 14, 1 << 14)), "x.html"), "at most"),
        (lambda: im.view(np.array([["a", "b"]]), "x.html"), "numbers"),
    ]:
        with pytest.raises(ts.ArgumentError, match=words):
            call()
    with pytest.raises(ts.IoError, match="page.html"):
        im.view(np.ones((2, 2)), tmp_path / "none" / "page.html")


STAND_IN = """
const drawn = [], listeners = [];
const element = () => ({
  append() {}, addEventListener(_, call) { listeners.push([this, call]); },
  getContext: () => ({
    createImageData: (w, h) => ({ data: new Uint8ClampedArray(4 * w * h) }), putImageData: (p) => drawn.push([...p.data]),
  }),
});
const document = { getElementById: element, createElement: element };
"""


@pytest.mark.skipif(NODE is None, reason="no node to run the script of the page")
def test_the_script_draws_what_sliders_say(rng, tmp_path):
    """With a stand-in for the page: the middle first, another slice, then a narrower window of grey."""
    x = rng.integers(0, 256, (2, 1, 3, 4, 5), dtype=np.uint8)
    x[0, 0, 0, 0, 0] = 255
    im.view(x, tmp_path / "page.html")
    script = re.search(r"<script>(.*)</script>", (tmp_path / "page.html").read_text(), re.S)[1]
    moves = """
    const move = (i, value) => { listeners[i][0].value = value; listeners[i][1](); };
    move(0, 0); move(1, 2); move(2, 50); move(3, 100);
    console.log(JSON.stringify(drawn));
    """
    (tmp_path / "page.js").write_text(STAND_IN + script.replace('"use strict";', "") + moves)
    done = subprocess.run([NODE, tmp_path / "page.js"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    drawn = np.array(json.loads(done.stdout)).reshape(-1, 4, 5, 4)
    windowed = np.clip(255 * (x[0, 0, 2].astype(float) - 50) / (100 - 50), 0, 255)
    want = [x[1, 0, 1], x[0, 0, 1], x[0, 0, 2], None, windowed]
    for got, expected in zip(drawn, want, strict=True):
        assert (got[..., 3] == 255).all() and (got[..., 0] == got[..., 2]).all()
        assert expected is None or np.abs(got[..., 0] - expected).max() <= 0.5


@pytest.mark.skipif(BROWSER is None, reason="no chromium to draw the page")
def test_a_browser_draws_it(tmp_path):
    """The middle slice is white on the left half, in a page whose sliders exist."""
    reader = pytest.importorskip("imageio.v3")
    x = np.zeros((3, 64, 64))
    x[1, :, :32] = 1
    im.view(x, tmp_path / "page.html")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--window-size=700,900", "--virtual-time-budget=3000"]
    shot = tmp_path / "shot.png"
    subprocess.run([BROWSER, *flags, f"--screenshot={shot}", f"file://{tmp_path}/page.html"], check=True, timeout=120)
    picture = reader.imread(shot)[..., :3].astype(int)
    assert (picture.min(-1) > 250).sum() > 0.8 * 256 * 512
    done = subprocess.run(
        [BROWSER, *flags, "--dump-dom", f"file://{tmp_path}/page.html"],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.count('type="range"') == 3
