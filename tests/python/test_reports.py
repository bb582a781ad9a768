# SPDX-License-Identifier: Apache-2.0
"""What people look at beside numbers: cards of arrays and results in notebooks, lines in a program's log, bars in notebooks."""

import base64
import logging
import re
import subprocess
import sys
import zlib

import numpy as np
import pytest
from test_explain_html import Page

import tessera as ts


def picture(page):
    """The pixels of the card's one picture."""
    (image,) = [a for tag, a in page.tags if tag == "img"]
    raw = base64.b64decode(image["src"].removeprefix("data:image/png;base64,"))
    assert raw.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = (int.from_bytes(raw[at : at + 4], "big") for at in (16, 20))
    start = raw.index(b"IDAT")
    lines = zlib.decompress(raw[start + 4 : start + 4 + int.from_bytes(raw[start - 4 : start], "big")])
    return np.frombuffer(lines, np.uint8).reshape(height, width + 1)[:, 1:]


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint64", "float16", "bfloat16", "float32", "complex64", "complex128"]
)
def test_a_card_of_an_array_shows_its_middle_image(dtype, device):
    x = ts.zeros((3, 9, 300), dtype, device=device)
    x[1, 2, 6] = 1
    page = Page(x._repr_html_())
    assert "(3, 9, 300)" in page.text and dtype in page.text and str(device) in page.text and "[1, :, :]" in page.text
    pixels = picture(page)
    assert pixels.shape == (3, 100) and pixels[0, 2] == 0  # every third row and column
    x[1, 3, 6] = 1
    assert picture(Page(x._repr_html_()))[1, 2] == 255


def test_cards_of_what_is_no_image(device):
    for shape in ((), (3,), (0, 20, 20), (20, 0), (5, 100), (7, 7, 7)):
        page = Page(ts.ones(shape, device=device)._repr_html_())
        assert not [tag for tag, _ in page.tags if tag == "img"] and str(shape) in page.text
        assert str(ts.ones(shape)) in page.text
    image = np.full((8, 8), np.nan)
    image[0, 0], image[1, 1], image[2, 2] = 2.0, np.inf, -1.0
    pixels = picture(Page(ts.asarray(image)._repr_html_()))
    assert (pixels[0, 0], pixels[1, 1], pixels[2, 2], pixels[3, 3]) == (255, 255, 128, 0)


def test_a_card_of_a_result_shows_how_it_went():
    A = ts.Diagonal(np.linspace(1, 9, 20), ("X",))
    r = ts.solve.cg(A, np.ones(20))
    page = Page(r._repr_html_())
    assert "SolveResult" in page.text and f"{r.iterations} iterations" in page.text and "(20,) float64" in page.text
    (line,) = [a for tag, a in page.tags if tag == "polyline"]
    assert len(line["points"].split()) == len([v for v in r.history if v > 0])
    for other in (ts.solve.lanczos(A, k=2), ts.solve.svd(A, k=2), ts.solve.cg(A, np.zeros(20))):
        assert type(other).__name__ in Page(other._repr_html_()).text


def test_transfers_go_to_the_log_of_a_program(caplog, capfd):
    x = ts.ones(1000, "float32")
    with ts.config.using(log_device_transfers=True):
        with caplog.at_level(logging.INFO, logger="tessera"):
            x.to("sim:0")
        assert [r.levelname for r in caplog.records] == ["INFO"] and caplog.records[0].name == "tessera"
        assert "from cpu to sim:0" in caplog.text and "KiB" in caplog.text and capfd.readouterr().err == ""
        caplog.clear()
        with caplog.at_level(logging.WARNING, logger="tessera"):
            x.to("sim:0")
        assert not caplog.records and re.match(r"tessera: .* from cpu to sim:0 .*\n", capfd.readouterr().err)


BARS = """
import sys, types
sys.modules["ipykernel"] = types.ModuleType("ipykernel")
{before}
import numpy as np, tessera as ts
A = ts.Diagonal(np.linspace(1, 9, 20), ("X",))
r = ts.solve.cg(A, np.ones(20), maxiter=12, rtol=0.0, progress=True)
{after}
"""


def run(**parts):
    return subprocess.run([sys.executable, "-c", BARS.format(**parts)], capture_output=True, text=True, check=True)


def test_notebooks_have_bars_of_tqdm():
    pytest.importorskip("tqdm")
    said = run(before="", after="print(ts._reports._bars)")
    assert re.search(r"cg.*12/12", said.stderr) and "####" not in said.stderr and said.stdout == "{}\n"


def test_without_tqdm_notebooks_have_plain_bars():
    said = run(before="sys.modules['tqdm'] = None", after="")
    assert re.search(r"cg \[#+\] 12/12", said.stderr), said.stderr
