# SPDX-License-Identifier: Apache-2.0
"""scripts/release.sh in a small repository of its own: a dry run changes nothing, a release makes notes, files and a tag."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHANGES = (
    "# Changes\n\nText.\n\n## Unreleased\n\n### Added\n- One thing.\n- Another.\n\n## 0.0.9 - 2020-01-01\n\n- Old.\n"
)
MAKE = """wheel:
\t@mkdir -p build/wheels && touch build/wheels/tessera_linops-0.1.0-x.whl build/wheels/tessera_linops-0.1.0.tar.gz
\t@touch build/wheels/tessera_linops-0.1.0-x.whl.cdx.json
docs:
\t@mkdir -p build/docs && touch build/docs/index.html
"""
pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="no git here")


# What git and make hand on to their children would have these work on the repository of whoever runs the tests.
ALONE = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "MAKE", "MFLAGS"))}
ALONE["GIT_CONFIG_GLOBAL"] = os.devnull


def git(folder, *arguments):
    command = ["git", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, env=ALONE).stdout.strip()


@pytest.fixture
def project(tmp_path):
    for name in ("scripts/release.sh", "scripts/common.sh"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    files = {
        "CHANGELOG.md": CHANGES,
        "Makefile": MAKE,
        ".gitignore": "/build/\n",
        ".ci/run": "#!/bin/sh\necho tested\n",
    }
    files["CMakeLists.txt"] = "project(tessera VERSION 0.1.0 LANGUAGES CXX)\n"
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / ".ci/run").chmod(0o755)
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "config", "user.email", "somebody@example.org")
    git(tmp_path, "config", "user.name", "Somebody")
    commit(tmp_path)
    return tmp_path


def commit(folder):
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "state")


def release(folder, *arguments):
    command = ["bash", "scripts/release.sh", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, env=ALONE)


def test_a_dry_run_says_everything_and_changes_nothing(project):
    before = git(project, "rev-parse", "HEAD")
    ended = release(project, "--dry-run")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    for text in (
        "release of 0.1.0",
        "2 points",
        "- One thing.",
        "would run: .ci/run",
        "wheel",
        "docs",
        "git tag -a v0.1.0",
    ):
        assert text in ended.stdout
    assert "- Old." not in ended.stdout
    assert git(project, "rev-parse", "HEAD") == before and git(project, "tag") == ""
    assert git(project, "status", "--porcelain", "--ignored") == ""


def test_a_release_has_notes_files_and_a_tag(project):
    ended = release(project)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "tested" in ended.stdout and "git push origin main v0.1.0" in ended.stdout
    folder = project / "build/releases/v0.1.0"
    assert sorted(path.name for path in folder.iterdir()) == [
        "SHA256SUMS",
        "notes.md",
        "sbom-tessera_linops-0.1.0-x.whl.cdx.json",
        "tessera-docs-0.1.0.tar.gz",
        "tessera_linops-0.1.0-x.whl",
        "tessera_linops-0.1.0.tar.gz",
    ]
    assert git(project, "tag") == "v0.1.0" and git(project, "status", "--porcelain") == ""
    assert git(project, "rev-parse", "v0.1.0^{commit}") == git(project, "rev-parse", "HEAD")
    message = git(project, "tag", "-l", "--format=%(contents)", "v0.1.0")
    assert "# Tessera 0.1.0" in message and "- Another." in message and "- Old." not in message
    changes = (project / "CHANGELOG.md").read_text()
    assert re.search(r"^## Unreleased\n\n## 0\.1\.0 - \d{4}-\d\d-\d\d\n\n### Added\n- One thing\.", changes, re.M)
    again = release(project, "--dry-run")
    assert again.returncode == 1 and "v0.1.0 is there already" in again.stderr


def test_tests_are_left_out_when_asked(project):
    assert ".ci/run" not in release(project, "--dry-run", "--no-tests").stdout


def test_tests_that_fail_end_it(project):
    (project / ".ci/run").write_text("#!/bin/sh\nexit 1\n")
    commit(project)
    assert release(project).returncode != 0 and git(project, "tag") == ""


def write(name, text):
    return lambda project: (project / name).write_text(text)


@pytest.mark.parametrize(
    ("spoil", "sentence", "committed"),
    [
        (write("extra.txt", "x"), "not committed", False),
        (write("CHANGELOG.md", "# Changes\n\n## Unreleased\n\n## 0.0.9\n- Old.\n"), "nothing under", True),
        (write("CMakeLists.txt", "project(tessera LANGUAGES CXX)\n"), "no version of three numbers", True),
        (lambda project: git(project, "tag", "v0.2.0"), "does not come after v0.2.0", True),
        (lambda project: git(project, "checkout", "-q", "-b", "side"), "made on main, this is side", True),
    ],
    ids=["changes", "notes", "version", "order", "branch"],
)
def test_what_is_not_ready_is_refused(project, spoil, sentence, committed):
    spoil(project)
    if committed and git(project, "status", "--porcelain"):
        commit(project)
    ended = release(project, "--dry-run")
    assert ended.returncode == 1 and sentence in ended.stderr


def test_an_unknown_option_is_refused(project):
    ended = release(project, "--now")
    assert ended.returncode == 2 and ended.stdout.startswith("usage: ")
