# SPDX-License-Identifier: Apache-2.0
"""One test, many ranks: every rank runs the same body on the same examples, and one rank's failure is everybody's.

After each body the ranks meet at the slate. A rank that failed says why; the others fail with its words. When a rank
stayed silent, or the library gave the group up (CommError), the session ends there and launch.py runs what is left."""

import faulthandler
import json
import os
import shutil
import sys
import tempfile
import traceback
from pathlib import Path

import hypothesis
import pytest
from slate import END, Ended, Silence, Slate

import tessera as ts

pytest.register_assert_rewrite("layouts", "checks")

hypothesis.settings.register_profile(
    "ranks",
    max_examples=int(os.environ.get("TESSERA_EXAMPLES", "60")),
    deadline=None,
    derandomize=True,
    database=None,
    print_blob=False,
    suppress_health_check=list(hypothesis.HealthCheck),
)
hypothesis.settings.load_profile("ranks")

SLATE = Slate()
FOLDER = Path(os.environ["TESSERA_RANKS_FOLDER"]) if "TESSERA_RANKS_FOLDER" in os.environ else None
LIMIT = float(os.environ.get("TESSERA_TEST_LIMIT", "600"))  # seconds of one test
STACK = open(FOLDER / f"stack{SLATE.rank}", "w") if FOLDER else sys.__stderr__  # where the watchdog writes
lost = []


def say(**event):
    if FOLDER and SLATE.rank == 0:
        with open(FOLDER / "events", "a") as file:
            file.write(json.dumps(event) + "\n")


def pytest_configure(config):
    assert ts.dist.world.size == SLATE.size, "the library sees other ranks than mpirun started"
    assert ts.dist.world.rank == SLATE.rank


def pytest_collection_modifyitems(items):
    """What an earlier group has done is not run again."""
    if FOLDER and (FOLDER / "done").exists():
        done = set((FOLDER / "done").read_text().splitlines())
        items[:] = [item for item in items if item.nodeid not in done]


def pytest_runtest_logstart(nodeid):
    say(test=nodeid, state="running")


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    faulthandler.dump_traceback_later(LIMIT, exit=True, file=STACK)
    words, error = END, None
    try:
        result = yield
    except pytest.skip.Exception:
        raise  # the same on all ranks: it depends on what is installed
    except Ended:
        raise  # the others know: they left first, and our note was read as theirs was
    except BaseException as caught:
        error = caught
        kind = "lost" if isinstance(caught, (Silence, ts.CommError)) else "failed"
        words = END + f"{kind}: {''.join(traceback.format_exception(caught, limit=-4))[-3000:]}".encode()
    finally:
        faulthandler.cancel_dump_traceback_later()
    try:
        all_words = SLATE.exchange(words)
    except Silence as silence:
        lost.append(str(silence))
        if error is None:
            raise
        all_words = [words]
    if any(w.startswith(END + b"lost") for w in all_words):
        lost.append("the group was given up")
    if lost:
        pyfuncitem.session.shouldstop = lost[0]
    if error is not None:
        raise error
    for rank, heard in enumerate(all_words):
        if heard != END:
            raise AssertionError(f"rank {rank} {heard[1:].decode(errors='replace')}")
    return result


def pytest_runtest_logreport(report):
    if report.when == "call" or (report.outcome != "passed" and report.when in ("setup", "teardown")):
        text = "" if report.outcome == "passed" else str(report.longrepr)
        say(test=report.nodeid, state=report.outcome, seconds=report.duration, text=text)


def pytest_sessionfinish(session):
    if FOLDER:
        if SLATE.rank == 0:
            (FOLDER / ("lost" if lost else "whole")).touch()
        session.exitstatus = 0  # mpirun ends everybody at the first rank that returns something else
    sys.stdout.flush()


@pytest.fixture
def slate():
    return SLATE


@pytest.fixture
def folder(slate):
    """One folder for all ranks."""
    mine = tempfile.mkdtemp(prefix="dist-") if slate.rank == 0 else None
    path = Path(slate.everybody(mine)[0])
    yield path
    slate.everybody(None)
    if slate.rank == 0:
        shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def comm():
    return ts.dist.world
