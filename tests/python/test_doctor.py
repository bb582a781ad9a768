# SPDX-License-Identifier: Apache-2.0
"""`tessera doctor`, `bench` and `version`: what they say, what they notice, and that they never end in a traceback."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tessera.__main__ import main

import tessera as ts
from tessera import _doctor, _doctor_machine, _doctor_names, _quick_bench

ROOT = Path(__file__).resolve().parents[2]
SECTIONS = ["versions", "devices", "libraries", "threads", "memory", "budgets", "caches", "disk", "environment"]


def found(part, **wanted):
    """The findings of a part by name."""
    return {finding.name: finding for finding in part(**wanted)}


def run(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "tessera", *arguments], capture_output=True, text=True, env={**os.environ, **environment}
    )


def test_version(capsys):
    assert main(["version"]) == 0
    assert capsys.readouterr().out == ts.__version__ + "\n"


def test_the_version_is_an_option_too(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == ts.__version__ + "\n"


@pytest.mark.parametrize("word", ["1", "true", "True", "on", "0", "false", "False", "off", "", "2", "yes", " "])
def test_call_checks_read_words_of_truth(word):
    code = "import tessera.dist._same_calls as checks; print(bool(checks._kept))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "TESSERA_CHECK_CALLS": word}
    )
    if word in ("2", "yes", " "):
        assert done.returncode and f"TESSERA_CHECK_CALLS: {word!r} is not a truth value" in done.stderr
    else:
        assert done.stdout == f"{word in ('1', 'true', 'True', 'on')}\n", done.stderr


def test_the_version_has_one_home():
    project = (ROOT / "pyproject.toml").read_text()
    pattern = re.search(r"^metadata\.version\.regex = '(.+)'$", project, re.M)[1]
    assert re.search(pattern, (ROOT / "CMakeLists.txt").read_text())["value"] == ts.__version__
    assert ts.__version__ not in project
    assert f"\nversion: {ts.__version__}\n" in (ROOT / "CITATION.cff").read_text()


@pytest.mark.skipif(not (ROOT / "LICENSES").exists(), reason="no licences here")
def test_the_texts_of_licences_are_those_that_the_notices_name():
    named = set(re.findall(r"\(LICENSES/([^)]+)\)", (ROOT / "THIRD_PARTY_NOTICES.md").read_text()))
    assert named == {file.name for file in (ROOT / "LICENSES").iterdir()}
    assert all(len((ROOT / "LICENSES" / name).read_text()) > 2000 for name in named)


def test_json_has_every_section_and_text_says_the_same(capsys, monkeypatch):
    monkeypatch.setenv("TESSERA_PROGRESS", "1")  # so that there is an environment to speak of
    assert main(["doctor", "--json", "--no-disk"]) == 0
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert list(dict.fromkeys(finding["section"] for finding in findings)) == SECTIONS
    assert all(set(finding) == {"section", "name", "value", "text", "advice"} for finding in findings)
    values = {(finding["section"], finding["name"]): finding["value"] for finding in findings}
    assert values["versions", "tessera"] == ts.__version__
    assert values["threads", "threads"] == ts.num_threads()
    assert values["devices", "devices"] == [str(device) for device in ts.devices()]
    assert main(["doctor", "--no-disk"]) == 0
    text = capsys.readouterr().out
    for finding in findings:
        assert finding["name"] in text and finding["advice"] in text
    for section in SECTIONS:
        assert section.capitalize() in text


def test_the_library_and_its_blas_and_fft_are_those_of_this_process():
    assert _doctor.library_file() is not None
    assert "OpenBLAS" in found(_doctor.libraries)["BLAS"].text
    assert ("fftw" if ts._tessera._fft_by_fftw() else "own passes") in found(_doctor.libraries)["FFT"].text.lower()


def test_an_import_maps_no_library_of_a_plug_in():
    code = """import pathlib, tessera
maps = pathlib.Path("/proc/self/maps").read_text()
print([name for name in ("libhdf5", "libcurl", "libfftw3", "libmpi", "libscalapack") if name in maps])"""
    asked = {k: v for k, v in os.environ.items() if not k.startswith(("OMPI_", "PMI"))}
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=asked).stdout
    assert told.strip() == "[]"


@pytest.mark.parametrize("name", _doctor_names.known_variables())
def test_a_mistyped_variable_is_noticed_and_the_real_one_offered(name, monkeypatch):
    short = name.removeprefix("TESSERA_")
    middle = len(short) // 2
    for wrong in (short[:middle] + short[middle + 1 :], short[:middle] + "Q" + short[middle:], short[:-1] + "Q"):
        monkeypatch.setenv("TESSERA_" + wrong, "1")
        finding = found(_doctor.environment)["TESSERA_" + wrong]
        assert "nobody reads" in finding.advice and name + " is" in finding.advice
        monkeypatch.delenv("TESSERA_" + wrong)
    assert _doctor_names.unknown_variables({name: "1"}) == []


def test_a_name_that_is_near_to_none_is_only_noticed(monkeypatch):
    monkeypatch.setenv("TESSERA_ZZZZZZ", "1")
    assert found(_doctor.environment)["TESSERA_ZZZZZZ"].advice == "nobody reads this variable"


def test_a_mistyped_variable_is_a_warning_at_the_import():
    said = run("version", TESSERA_NUM_TREADS="2", TESSERA_ZZZZZZ="1")
    assert said.returncode == 0 and said.stdout == ts.__version__ + "\n"
    assert "nobody reads the variable TESSERA_NUM_TREADS; TESSERA_NUM_THREADS is one" in said.stderr
    assert "nobody reads the variable TESSERA_ZZZZZZ\n" in said.stderr
    assert run("version", TESSERA_NUM_THREADS="2", TESSERA_TEST_RANKS="3").stderr == ""


@pytest.mark.skipif(not (ROOT / "docs").exists(), reason="no documentation here")
def test_the_page_of_settings_has_them_all_as_they_are():
    page = (ROOT / "docs/guide/settings.md").read_text()
    for name, _, initial, meaning in ts._tessera._settings():
        assert f"| `{name}` | `TESSERA_{name.upper()}` | `{initial}` | {meaning} |\n" in page
    listed = set(re.findall(r"^\| .*?`(TESSERA_[A-Z0-9_]+)`", page, re.M))
    assert listed == set(_doctor_names.known_variables())


def test_every_variable_that_somebody_reads_is_known():
    reads = re.compile(r"""(?:getenv\(|environ(?:\.get)?[\[(]\s*|setenv\(|\$\{)["']?(TESSERA_[A-Z0-9_]+)""")
    named = re.compile(r"""^[A-Z_]+ = "(TESSERA_[A-Z0-9_]+)\"""", re.M)  # constants by which they are read
    suffixes, folders = {".cpp", ".hpp", ".cu", ".py", ".sh"}, ("src", "cli", "python", "scripts", "tests", "bench")
    files = [p for folder in folders for p in (ROOT / folder).rglob("*") if p.suffix in suffixes]
    names = {n for p in files if p.name != "test_doctor.py" for r in (reads, named) for n in r.findall(p.read_text())}
    assert {"TESSERA_PLUGIN_PATH", "TESSERA_TEST_DEVICE", "TESSERA_JOBS"} <= names
    assert _doctor_names.unknown_variables(dict.fromkeys(names, "")) == []


def test_a_variable_that_cannot_be_read_is_a_sentence():
    ended = run("doctor", "--no-disk", TESSERA_SIM_DEVICES="many")
    assert ended.returncode == 1 and "Traceback" not in ended.stderr
    assert ended.stderr.startswith("tessera: ") and "TESSERA_SIM_DEVICES" in ended.stderr


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_control_groups_of_version_2(tmp_path):
    assert _doctor_machine.cgroup_memory(tmp_path) is None and _doctor_machine.cgroup_cores(tmp_path) is None
    write(tmp_path / "proc/self/cgroup", "0::/user/job 1\n")
    groups = tmp_path / "sys/fs/cgroup"
    write(groups / "user/job 1/memory.max", "max\n")
    write(groups / "user/job 1/cpu.max", "max 100000\n")
    assert _doctor_machine.cgroup_memory(tmp_path) is None and _doctor_machine.cgroup_cores(tmp_path) is None
    write(groups / "user/memory.max", "4096\n")  # of the parent
    write(groups / "user/memory.high", "2048\n")
    write(groups / "user/cpu.max", "150000 100000\n")
    assert _doctor_machine.cgroup_memory(tmp_path) == 2048
    assert _doctor_machine.cgroup_cores(tmp_path) == 1.5
    write(groups / "user/memory.high", "not a number")
    assert _doctor_machine.cgroup_memory(tmp_path) == 4096


def test_control_groups_of_version_1(tmp_path):
    write(tmp_path / "proc/self/cgroup", "5:memory:/docker/x\n4:cpu,cpuacct:/docker/x\n3:freezer:/\n")
    groups = tmp_path / "sys/fs/cgroup"
    write(groups / "memory/memory.limit_in_bytes", "9223372036854771712\n")
    assert _doctor_machine.cgroup_memory(tmp_path) is None
    write(groups / "memory/memory.limit_in_bytes", "8192\n")  # within a container only the mount itself is there
    write(groups / "cpu,cpuacct/cpu.cfs_quota_us", "-1\n")
    write(groups / "cpu,cpuacct/cpu.cfs_period_us", "100000\n")
    assert _doctor_machine.cgroup_memory(tmp_path) == 8192
    assert _doctor_machine.cgroup_cores(tmp_path) is None
    write(groups / "cpu,cpuacct/cpu.cfs_quota_us", "50000\n")
    assert _doctor_machine.cgroup_cores(tmp_path) == 0.5


def test_the_file_system_is_that_of_the_innermost_mount(tmp_path):
    inner = tmp_path / "with blank"
    inner.mkdir()
    mounts = f"none / ext4 rw 0 0\nnone {tmp_path} nfs4 rw 0 0\nnone {str(inner).replace(' ', chr(92) + '040')} tmpfs rw 0 0\n"
    write(tmp_path / "proc/self/mounts", mounts)
    assert _doctor_machine.file_system(inner / "deeper", tmp_path) == "tmpfs"
    assert _doctor_machine.file_system(tmp_path, tmp_path) == "nfs4"
    assert _doctor_machine.file_system(Path("/usr"), tmp_path) == "ext4"
    assert _doctor_machine.file_system(tmp_path, tmp_path / "nothing") == ""


def test_the_disk_is_measured_and_left_as_it_was(tmp_path):
    written, read = _doctor_machine.disk_speed(tmp_path, size=1 << 20, piece=1 << 18)
    assert written > 0 and read > 0 and list(tmp_path.iterdir()) == []
    with pytest.raises(OSError):
        _doctor_machine.disk_speed(tmp_path / "nowhere")


@pytest.mark.skipif(_doctor_machine.file_system(Path("/dev/shm")) != "tmpfs", reason="no folder in memory here")
def test_a_backing_folder_in_memory_is_noticed():
    try:
        ts.set_backing_dir("/dev/shm")
        assert "is memory" in found(_doctor.disk, measure=False)["backing folder"].advice
    finally:
        ts.set_backing_dir(None)


def test_threads_beyond_the_cores_are_noticed():
    before = ts.num_threads()
    assert "more threads" not in found(_doctor.threads)["threads"].advice
    try:
        ts.set_num_threads((os.cpu_count() or 1) + 1)
        assert "set_num_threads" in found(_doctor.threads)["threads"].advice
    finally:
        ts.set_num_threads(before)


def test_budgets_beyond_the_memory_are_noticed():
    with ts.memory_budget(host="1000TiB"):
        assert "smaller budget" in found(_doctor.budgets)["cpu"].advice
    with ts.memory_budget(host="1MiB"):
        assert found(_doctor.budgets)["cpu"].advice == ""


def test_caches(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert found(_doctor.caches)["calibration"].value is None
    write(tmp_path / "tessera/costs.txt", "x")
    assert found(_doctor.caches)["calibration"].value == str(tmp_path / "tessera/costs.txt")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("HOME", raising=False)
    assert "XDG_CACHE_HOME" in found(_doctor.caches)["folder"].advice


def test_plugins_are_looked_for_where_the_library_looks(tmp_path, monkeypatch):
    write(tmp_path / "libtessera_mpi.so", "")
    monkeypatch.setenv("TESSERA_PLUGIN_PATH", f"/nowhere::{tmp_path}")
    assert found(_doctor.mpi)["MPI plug-in"].value == str(tmp_path / "libtessera_mpi.so")


def test_quick_bench_prints_a_row_for_each_operation(capsys):
    assert _quick_bench.run(budget=0, scale=32) == 0
    lines = capsys.readouterr().out.splitlines()
    names = [row.name for row in _quick_bench.rows(32)]
    assert [line[:22].strip() for line in lines[2:]] == names
    assert all(re.search(r"\d+\.\d", line) for line in lines[2:])


def test_what_is_not_a_command_is_refused(capsys):
    for arguments in ([], ["surgeon"], ["doctor", "--loud"]):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code == 2
    with pytest.raises(SystemExit, match="make bench"):
        main(["bench"])


@pytest.mark.skipif(not (ROOT / "scripts/setup_neighbours.sh").exists(), reason="no scripts here")
@pytest.mark.parametrize("lost", ["", "small", "torch", "no-deps"])
def test_neighbours_that_do_not_arrive_lose_no_other(lost, tmp_path):
    for folder in ("scripts", "build"):
        (tmp_path / folder).mkdir()
    (tmp_path / "scripts/setup_neighbours.sh").write_text((ROOT / "scripts/setup_neighbours.sh").read_text())
    (tmp_path / "scripts/common.sh").write_text("set -euo pipefail\nsay() { echo $1; }\nPY=./pip\n")
    (tmp_path / "requirements-neighbours.txt").write_text("jax>=0.4\ntorch>=2.5,<2.11\ntorchvision\nxarray\n")
    lose = f'case "$*" in *{lost}*) exit 1;; esac\n' if lost else ""
    (tmp_path / "pip").write_text(f'#!/bin/sh\necho "$PIP_DEFAULT_TIMEOUT $*" >>calls\n{lose}')
    (tmp_path / "pip").chmod(0o755)
    environment = {name: text for name, text in os.environ.items() if name != "PIP_DEFAULT_TIMEOUT"}
    done = subprocess.run(
        ["bash", "scripts/setup_neighbours.sh"], cwd=tmp_path, capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    calls = (tmp_path / "calls").read_text().splitlines()
    assert len(calls) == 3 and all(call.startswith("60 ") for call in calls)
    assert (tmp_path / "build/neighbours-small.txt").read_text() == "jax>=0.4\nxarray\n"
    assert (tmp_path / "build/neighbours-torch.txt").read_text() == "torch>=2.5,<2.11\ntorchvision\n"
    assert bool(list((tmp_path / "build").glob(".neighbours-*"))) == (not lost)
    assert ("not installed: " in done.stdout) == bool(lost)
