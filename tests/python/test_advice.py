# SPDX-License-Identifier: Apache-2.0
"""`with ts.doctor()`: for each kind of advice a program that provokes it and one that does not; lines, silence, no traces."""

import importlib.util
import inspect
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import tessera as ts

DIST = Path(__file__).parent / "dist"
LONG = (160, 160)  # of float32: more than the 64 KiB from which on pinning pays
TRACED = sys.gettrace() is not None
needs_lines = pytest.mark.skipif(TRACED, reason="another tracer runs: lines are not told apart")


def copies():
    x = ts.ones((8, 8), "float32")
    for _ in range(12):
        x.to("sim:0")


def moved_once():
    x = ts.ones((8, 8), "float32").to("sim:0")
    for _ in range(12):
        x = x + 1
    x.to("cpu")


def numbers_fetched():
    x = ts.ones((8, 8), "float32", "sim:0")
    for _ in range(12):
        float(x.sum())


def plans():
    x = ts.ones((5, 6), "complex64")
    for _ in range(12):
        ts.FFT(2)(x)


def plan_kept():
    x, transform = ts.ones((5, 6), "complex64"), ts.FFT(2)
    for _ in range(12):
        transform(x)


def elements_read():
    x = ts.ones((4, 200))
    sum(float(x[1, i]) for i in range(200))


def elements_written():
    x = ts.ones(200)
    for i in range(200):
        x[i] = 3.0


def elements_of_a_device():
    x = ts.ones(120, device="sim:0")
    for i in range(120):
        float(x[i])


def elements_iterated():
    for _ in ts.ones(150):
        pass


def whole_arrays():
    x = ts.ones((4, 200))
    x[1, :100] = 3.0
    sum(x[1].tolist())
    for row in x:
        float(row[0])


def pageable():
    for _ in range(12):
        ts.ones(LONG, "float32").to("sim:0")


def pinned():
    x = ts.ones(LONG, "float32").pin_memory()
    for _ in range(12):
        x.to("sim:0")


def short_pageable():
    x = ts.ones((8, 8), "float32")
    for _ in range(12):
        x.to("sim:0")


def small_kernels():
    x = ts.ones(10)
    for _ in range(600):
        x = x * 0.5


def small_kernels_of_a_device():
    x = ts.ones(10, device="sim:0")
    for _ in range(600):
        x = x * 0.5


def small_plans():
    x, transform = ts.ones((3, 4), "complex64"), ts.FFT(2)
    for _ in range(600):
        transform(x)


def large_kernels():
    x = ts.ones(5000)
    for _ in range(600):
        x = x * 0.5


def watched(program, **options):
    with ts.doctor(quiet=True, **options) as report:
        program()
    return report


def kinds(report):
    return {advice.kind for advice in report.advice}


PROVOKED = [
    (copies, "copies", 12, 12 * 256),
    (numbers_fetched, "copies", 12, 12 * 4),
    (plans, "plans", 12, 0),
    (elements_read, "elements", 200, 0),
    (elements_written, "elements", 200, 0),
    (elements_of_a_device, "elements", 120, 0),
    (elements_iterated, "elements", 150, 0),
    (pageable, "pageable", 12, 12 * 160 * 160 * 4),
    (small_kernels, "small kernels", 600, 0),
    (small_kernels_of_a_device, "small kernels", None, 0),
    (small_plans, "small kernels", None, 0),
]


@pytest.mark.parametrize("lines", [True, False])
@pytest.mark.parametrize(("program", "kind", "count", "size"), PROVOKED, ids=lambda v: getattr(v, "__name__", None))
def test_what_costs_is_said(program, kind, count, size, lines):
    report = watched(program, lines=lines)
    assert kind in kinds(report)
    found = [advice for advice in report.advice if advice.kind == kind]
    assert count is None or sum(advice.count for advice in found) == count
    assert sum(advice.bytes for advice in found) == size
    for advice in found:
        assert advice.cost in repr(report) and advice.instead in repr(report) and str(advice.count) in advice.cost
        assert (advice.seconds is None) == (TRACED or not lines) and (advice.seconds is None or advice.seconds >= 0)


@pytest.mark.parametrize("lines", [True, False])
@pytest.mark.parametrize(
    ("program", "kind"),
    [
        (moved_once, None),
        (plan_kept, None),
        (whole_arrays, None),
        (pinned, "pageable"),
        (short_pageable, "pageable"),
        (large_kernels, None),
    ],
    ids=lambda v: getattr(v, "__name__", None),
)
def test_what_is_well_is_not_mentioned(program, kind, lines):
    found = kinds(watched(program, lines=lines))
    assert kind not in found if kind else found == set()


@needs_lines
@pytest.mark.parametrize("program", [p[0] for p in PROVOKED], ids=lambda p: p.__name__)
def test_the_line_of_the_program_is_named(program):
    text, first = inspect.getsourcelines(program)
    for advice in watched(program).advice:
        assert advice.file == __file__ and first < advice.line < first + len(text)
        assert advice.source == text[advice.line - first].strip()


@needs_lines
def test_lines_of_functions_that_are_called_are_theirs():
    def moved(x):
        return x.to("sim:0")

    x = ts.ones(3)
    with ts.doctor(quiet=True) as report:
        for _ in range(10):
            y = moved(x)
            y.to("cpu")
    assert {(a.kind, a.source) for a in report.advice} == {
        ("copies", 'return x.to("sim:0")'),
        ("copies", 'y.to("cpu")'),
    }


def test_the_report_counts_the_block_and_nothing_else(capsys):
    x = ts.ones(3)
    x.to("sim:0")
    with ts.doctor() as report:
        assert repr(report) and report.advice == []
        x.to("sim:0")
    x.to("sim:0")
    assert report.counts["copies"] == 1 and report.counts["bytes_host_to_device"] == 24
    assert capsys.readouterr().err.startswith("tessera doctor: nothing to advise; the block took")


def test_it_speaks_at_the_end_unless_quiet(capsys):
    with ts.doctor() as report:
        copies()
    said = capsys.readouterr()
    assert said.err == repr(report) + "\n" and said.out == "" and "12 copies" in said.err
    with ts.doctor(quiet=True):
        copies()
    said = capsys.readouterr()
    assert said.err == said.out == ""


def test_the_most_seconds_come_first():
    with ts.doctor(quiet=True) as report:
        copies()
        elements_read()
        plans()
    seconds = [advice.seconds or 0 for advice in report.advice]
    assert seconds == sorted(seconds, reverse=True) and kinds(report) >= {"copies", "elements", "plans"}


def test_nothing_is_left_after_the_block_even_when_it_fails():
    before = sys.gettrace()
    with pytest.raises(KeyError):
        with ts.doctor(quiet=True) as report:
            elements_read()
            raise KeyError
    assert kinds(report) == {"elements"} and sys.gettrace() is before
    assert TRACED or sys._getframe().f_trace is None
    seen = ts._tessera._watched()
    elements_read()
    small_kernels()
    assert ts._tessera._watched()[-4:] == seen[-4:]  # what is counted while somebody watches


def test_blocks_in_blocks_and_one_block_twice():
    outer, inner = ts.doctor(quiet=True), ts.doctor(quiet=True)
    with outer as first:
        elements_read()
        with inner as second:
            elements_written()
        elements_iterated()
    assert second.counts["elements"] == 200 and first.counts["elements"] == 550
    assert "another tracer" in repr(second)
    with outer, pytest.raises(RuntimeError, match="watched already"), outer:
        pass


def test_counters_that_are_reset_inside_are_no_negative_counts():
    with ts.doctor(quiet=True) as report:
        ts.ones(3).to("sim:0")
        ts.reset_counters()
        ts.ones(3).to("sim:0")
    assert min(report.counts.values()) >= 0


def test_options_are_named():
    with pytest.raises(TypeError):
        ts.doctor(True)


@pytest.mark.skipif(importlib.util.find_spec("IPython") is None, reason="no IPython here")
def test_in_a_cell_of_a_notebook():
    cell = "import tessera as ts\nwith ts.doctor(quiet=True) as r:\n    for v in ts.ones(150): pass\nprint(r.advice[0].line)"
    ended = subprocess.run([sys.executable, "-m", "IPython", "-c", cell], capture_output=True, text=True)
    assert ended.stdout.strip().endswith("3"), ended.stdout + ended.stderr


RANKS = """
    import tessera as ts
    x = ts.dist.arange(4000.0, split=0)
    with ts.doctor() as report:
        {}
    kinds = [advice.kind for advice in report.advice]
    assert kinds == {!r}, report
    print("all is well")
"""


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ("for i in range(200): x[i + 1900].item()", ["messages"]),
        ("for i in range(10): (x * i).sum()", []),
        ("x[::-1].numpy()", []),
    ],
)
def test_messages_of_ranks(block, expected, tmp_path):
    sys.path.insert(0, str(DIST))
    try:
        import launch
    finally:
        sys.path.remove(str(DIST))
    if launch.mpirun() is None or "OMPI_COMM_WORLD_SIZE" in os.environ:
        pytest.skip("no mpirun here, or under it")
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(RANKS.format(block, expected)))
    with launch.Group(2, [str(path)]) as group:
        ended, words = group.wait(300), group.words()
    assert ended == 0 and words.count("all is well") == 2, words
    assert words.count("tessera doctor: ") == 1, words
