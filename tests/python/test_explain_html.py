# SPDX-License-Identifier: Apache-2.0
"""The page of a plan: complete, well-formed, escaped, self-contained; drawn by a real browser where there is one."""

import json
import os
import re
import shutil
import subprocess
from functools import cached_property
from html.parser import HTMLParser

import numpy as np
import pytest

import tessera as ts

VOID = {"meta", "input", "br", "link", "img"}
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Page(HTMLParser):
    """Tags, attributes and texts; fails where a tag is closed that is not open."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.texts, self.scripts = [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, (tag, self.open)

    def handle_data(self, data):
        (self.scripts if self.open and self.open[-1] == "script" else self.texts).append(data)

    @property
    def text(self):
        return "\n".join(self.texts)

    @cached_property
    def data(self):
        return json.loads(self.scripts[0])

    def named(self, **attributes):
        return [a for _, a in self.tags if all(a.get(k.rstrip("_")) == v for k, v in attributes.items())]


def sense(n=12, coils=3):
    maps = ts.ones((coils, n, n), dtype="complex64")
    S = ts.Dense(maps, ("C", "Nx", "Ny"), ("Nx", "Ny"), ("C", "Nx", "Ny"))
    F = ts.FFT(2, batch_shape=("C",), grid_shapes=(("Nx", "Ny"), ("Kx", "Ky")))
    M = ts.Diagonal(ts.ones((n, 1), dtype="float32"), ("C", "Kx", "Ky"))
    return (M @ F @ S).named("SENSE")


def tiles(count, devices=2, n=3):
    """A block diagonal operator whose tiles run on simulated devices in turn."""
    parts = []
    for k in range(count):
        here = f"sim:{k % devices}"
        D = ts.Diagonal(ts.array(np.full(n, k + 1.0, "float32"), device=here), ("X",))
        parts.append(ts.ToDevice(here, "cpu", ("X",)) @ D @ ts.ToDevice("cpu", here, ("X",)))
    return ts.Concat(*parts, idim="X", odim="X")


def labels(plan):
    return [step["label"] for step in json.loads(plan.explain("json"))["steps"]]


def check_page(plan, **options):
    text = plan.explain("html", **options)
    page = Page(text)
    assert not re.search(r"https?:|//\w+\.\w|@import|src=", text)
    assert all(not {"src", "href", "action"} & set(a) for _, a in page.tags)
    assert [a.get("type") for t, a in page.tags if t == "script"] == ["application/json", None]
    steps = labels(plan)
    assert [page.data["texts"][s[0]] for s in page.data["steps"]] == steps
    assert set(steps) <= set(page.texts)
    return page


@pytest.mark.parametrize("A, x", [
    (ts.Diagonal(ts.ones(5, "float32"), ("X",)), ts.ones(5, "float32")),
    (sense(), ts.ones((12, 12), "complex64")),
    (sense().N, ts.ones((12, 12), "complex64")),
    (tiles(4), ts.ones(12, "float32")),
], ids=["one step", "chain", "normal", "tiles"])  # fmt: skip
def test_page_is_complete(A, x):
    plan = A.plan(x)
    page = check_page(plan)
    whole = json.loads(plan.explain("json"))
    assert [s[1] for s in page.data["steps"]] == [s["lane"] for s in whole["steps"]]
    assert [s[7] for s in page.data["steps"]] == [s["waits"] for s in whole["steps"]]
    for memory in page.data["memory"]:
        assert memory["bytes"] == plan.workspace[memory["device"]]
        assert memory["blocks"] and all(o + n <= memory["bytes"] for _, _, o, n, _, _ in memory["blocks"])
    for note in whole["notes"]:
        assert note in page.text
    assert len(page.named(class_="card")) >= 5
    # The tree is the operator's own, from the top.
    rows = [a for a in page.named() if "data-row" in a]
    assert len(rows) == len(whole["tree"]) == len(page.data["parents"])
    assert whole["tree"][0]["name"] == str(A) and page.data["parents"][0] == -1
    assert A.explain(x, format="html") == plan.explain("html")


def test_columns_keep_the_order():
    data = check_page(tiles(6).plan(shape=18, dtype="float32")).data
    last = {}
    for _, lane, _, _, _, _, column, waits, _, _ in data["steps"]:
        assert all(data["steps"][u][6] < column for u in waits)
        assert last.get(lane, -1) < column
        last[lane] = column
    assert len({step[6] for step in data["steps"]}) < len(data["steps"])  # two devices at the same time


def test_names_are_no_markup():
    name = "</script><script>alert('x')</script><b a=\"&amp;"
    A = ts.Diagonal(ts.ones(4, "float32"), ("X",)).named(name)
    plan = (A @ ts.Diagonal(ts.ones(4, "float32"), ("X",)).H).plan(shape=4, dtype="float32")
    page = check_page(plan)
    assert not [t for t, _ in page.tags if t == "b" and "a" in dict(_)]
    assert any(name in text for text in page.texts)
    card = Page(plan._repr_html_())
    assert not [t for t, _ in card.tags if t == "script"] and any(name in text for text in card.texts)


def test_large_plans_stay_small():
    plan = tiles(700).plan(shape=2100, dtype="float32")
    assert len(labels(plan)) >= 2000
    text = plan.explain("html")
    assert len(text) < 3_000_000
    page = check_page(plan)
    assert len([a for a in page.named() if "data-row" in a]) < 20  # equal tiles are one row
    assert " ×700" in page.texts


def test_card_in_notebooks():
    A = sense()
    plan = A.plan(shape=(12, 12), dtype="complex64")
    card = Page(plan._repr_html_())
    assert card.tags[0] == ("div", Page(A._repr_html_()).tags[0][1] | {"class": "tessera-plan"})
    assert "SENSE: Chain (Nx, Ny) -> (C, Kx, Ky)" in card.texts
    for label in labels(plan):
        assert label in card.texts
    assert not [t for t, _ in card.tags if t in ("script", "a", "link")]


def test_traced_run(tmp_path):
    A, path = tiles(4), tmp_path / "run.json"
    plan, x = A.plan(shape=12, dtype="float32"), ts.ones(12, "float32")
    assert "with ts.trace" in check_page(plan).text
    with ts.trace(path):
        for _ in range(3):
            plan(x)
    page = check_page(plan, trace=path)
    trace = page.data["trace"]
    assert page.named(id="timeline") and "The last of 3 runs" in page.text
    # Each step once, in the time of the run, and on one stream a lane.
    drawn = sorted(s[4] for s in trace["spans"] if s[4] >= 0)
    assert drawn == list(range(len(labels(plan))))
    streams = {}
    for track, start, took, _, step, size in trace["spans"]:
        assert 0 <= took and start + took <= trace["length"] + 1e-3
        if step >= 0:
            _, lane, kind, moved = page.data["steps"][step][:4]
            assert page.data["steps"][step][8] == pytest.approx(took, abs=1e-3)
            assert kind != 1 or size == moved
            assert streams.setdefault(lane, track) == track
    assert len(set(streams.values())) == len(page.data["lanes"])
    assert all(re.fullmatch(r"sim:\d stream \d+", trace["tracks"][t]) for t in streams.values())
    assert trace["tracks"][0] == "runs"
    # A step starts after what it waits for has ended.
    when = {s[4]: (s[1], s[1] + s[2]) for s in trace["spans"] if s[4] >= 0}
    for t, step in enumerate(page.data["steps"]):
        assert all(when[u][1] <= when[t][0] + 1e-3 for u in step[7])


def test_trace_of_other_work(tmp_path):
    plan = sense().plan(shape=(12, 12), dtype="complex64")
    with ts.trace(tmp_path / "other.json"):
        ts.FFT(1)(ts.ones(8, "complex64"))
    page = check_page(plan, trace=str(tmp_path / "other.json"))
    assert "trace" not in page.data and "holds no run of this plan" in page.text
    with ts.trace(tmp_path / "cpu.json"):
        plan(ts.ones((12, 12), "complex64"))
    page = check_page(plan, trace=tmp_path / "cpu.json")
    assert sorted(s[4] for s in page.data["trace"]["spans"]) == [-1, *range(len(labels(plan)))]


def test_refusals(tmp_path):
    plan = sense().plan(shape=(12, 12), dtype="complex64")
    with pytest.raises(ts.ArgumentError, match="'text', 'json', 'dot' or 'html', got 'pdf'"):
        plan.explain("pdf")
    with pytest.raises(ts.ArgumentError, match="format 'html', got 'text'"):
        plan.explain(trace=tmp_path / "run.json")
    with pytest.raises(ts.IoError, match="cannot read the trace"):
        plan.explain("html", trace=tmp_path / "missing.json")
    track = '{"ph": "M", "name": "thread_name", "tid": 1, "args": {"name": "cpu"}}'
    late = f'[{track}, {{"ph": "X", "tid": 1, "name": "fft", "ts": "soon"}}]'
    for text in ("", "{", "7", '{"a": 1}', '[{"ph": 3}]', "[7]", late):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(ts.IoError, match="is no trace"):
            plan.explain("html", trace=tmp_path / "bad.json")


@pytest.mark.skipif(BROWSER is None, reason="no chromium to draw the page")
@pytest.mark.parametrize("count", [1, 6, 700])
def test_browser_draws(tmp_path, count):
    plan, x = tiles(count).plan(shape=3 * count, dtype="float32"), ts.ones(3 * count, "float32")
    with ts.trace(tmp_path / "run.json"):
        plan(x)
    page = tmp_path / "page.html"
    page.write_text(plan.explain("html", trace=tmp_path / "run.json"))
    done = subprocess.run(
        [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom",
         f"--user-data-dir={tmp_path / 'profile'}", page.as_uri()],
        capture_output=True, text=True, timeout=900, env={**os.environ, "HOME": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not [line for line in done.stderr.splitlines() if "CONSOLE" in line], done.stderr
    dom = Page(done.stdout)
    data, steps = dom.data, len(labels(plan))
    assert [a for t, a in dom.tags if t == "body"] == [{"data-drawn": str(steps)}]
    # Every step is a box among the lanes and one in the timeline; every wait an arrow; every temporary a block.
    boxes = [a for _, a in dom.tags if "data-step" in a]
    assert len(boxes) == steps + sum(s[4] >= 0 for s in data["trace"]["spans"]) == 2 * steps
    assert len([a for _, a in dom.tags if "data-from" in a]) == sum(len(s[7]) for s in data["steps"])
    blocks = [a for _, a in dom.tags if a.get("data-tip", "").startswith("t")]
    assert len(blocks) == sum(len(m["blocks"]) for m in data["memory"])
