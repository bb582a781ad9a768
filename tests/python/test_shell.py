# SPDX-License-Identifier: Apache-2.0
"""`tessera completion` and `tessera man`: tried in the shells that are here, read by groff, as the parser has them."""

import os
import random
import re
import shutil
import subprocess

import pytest
from tessera.__main__ import _parser, main

from tessera import _offered, _shell

PARSER = _parser()
COMMANDS = [name for name, _, _ in _shell.commands(PARSER)]
needs = lambda program: pytest.mark.skipif(shutil.which(program) is None, reason=f"no {program} here")


def printed(capsys, *arguments):
    assert main(list(arguments)) == 0
    return capsys.readouterr().out


def completed(script, words, folder):
    """What bash offers for the last of these words."""
    typed = " ".join(f"'{word}'" for word in words)
    program = (
        f"{script}\nCOMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; _tessera; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    ended = subprocess.run(
        ["bash", "--norc", "-uc", program],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=60,
        env={**os.environ, "LC_ALL": "C"},
    )
    assert ended.returncode == 0 and ended.stderr == "", ended.stderr
    return sorted(line for line in ended.stdout.split("\n") if line)


@needs("bash")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["doc"], ["doctor"]),
        (["ver"], ["version"]),
        (["re"], ["recon"]),
        (["zz"], []),
        (["doctor", "--"], ["--help", "--json", "--no-disk"]),
        (["doctor", "a"], []),
        (["bench", "--q"], ["--quick"]),
        (["completion", ""], ["--help", "-h", "bash", "fish", "zsh"]),
        (["completion", "b"], ["bash"]),
        (["view", "scan"], ["scan.npy"]),
        (["view", "--out"], ["--output"]),
        (["view", "scan.npy", "--output", "sc"], ["scan.npy"]),
        (["recon", "--check"], ["--checkpoint"]),
        (["recon", "--lambda", "--"], []),
        (["recon", "--lambda", ""], ["auto"]),
        (["recon", "--method", ""], sorted(_offered.METHODS)),
        (["recon", "--method", "s"], ["sense"]),
        (["recon", "scan.h5", "--method", "scan"], []),
        (["demo", "--size", ""], sorted(_offered.SIZES)),
        (["demo", "--device", "c"], [d for d in _offered.devices() if d.startswith("c")]),
        (["recon", "--device", "sim:"], [d for d in _offered.devices() if d.startswith("sim:")]),
        (["nothing", "--"], []),
    ],
    ids=" ".join,
)
def test_bash_offers(words, expected, capsys, tmp_path):
    (tmp_path / "scan.npy").touch()
    assert completed(printed(capsys, "completion", "bash"), ["tessera", *words], tmp_path) == expected


@needs("bash")
@pytest.mark.parametrize("seed", range(4))
def test_bash_offers_files_by_their_whole_names(seed, tmp_path):
    """Names with blanks, quotes, and signs of patterns and of shells."""
    rng = random.Random(seed)
    names = {"my " + "".join(rng.choices("ab \t'\"*?[]$(){};&|<>\\~!", k=6)) + "x" for _ in range(12)}
    for name in (*names, "other"):
        (tmp_path / name).touch()
    for words in (["view", "my"], ["view", "my "], ["recon", "--maps", "my"]):
        assert completed(_shell.bash(PARSER), ["tessera", *words], tmp_path) == sorted(names)


@needs("zsh")
@pytest.mark.parametrize("way", ["fpath", "eval"])
def test_zsh_completes_at_the_first_tab(way, tmp_path):
    """From a folder of $fpath zsh runs the file itself as the function `_tessera`; evaluated, it says compdef."""
    (tmp_path / "_tessera").write_text(_shell.zsh(PARSER))
    made = f"fpath=({tmp_path} $fpath); autoload -Uz _tessera" if way == "fpath" else f"source {tmp_path}/_tessera"
    stubs = "compdef() { print registered }; _describe() { print offered }; CURRENT=2"
    ended = subprocess.run(
        ["zsh", "-f", "-c", f"{stubs}; {made}; _tessera"], capture_output=True, text=True, timeout=60, cwd=tmp_path
    )
    assert ended.returncode == 0 and ended.stderr == ""
    assert ended.stdout.split() == (["offered"] if way == "fpath" else ["registered", "offered"])


@needs("bash")
def test_bash_offers_every_command(capsys, tmp_path):
    offered = completed(printed(capsys, "completion", "bash"), ["tessera", ""], tmp_path)
    assert offered == sorted([*COMMANDS, "-h", "--help"])
    for name, _, command in _shell.commands(PARSER):
        found = completed(_shell.bash(PARSER), ["tessera", name, "-"], tmp_path)
        assert found == sorted(option for names, _, _ in _shell.options(command) for option in names)


@pytest.mark.parametrize("shell", _shell.SHELLS)
def test_every_command_and_option_is_known_to_each_shell(shell, capsys):
    text = printed(capsys, "completion", shell)
    for name, said, command in _shell.commands(PARSER):
        assert re.search(rf"\b{name}\b", text)
        assert shell == "bash" or said.split(",")[0].split(":")[0] in text
        for names, _, _ in _shell.options(command):
            assert all(option.lstrip("-") in text for option in names)


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_shells_can_read_it(shell, capsys, tmp_path):
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    script = tmp_path / "completion"
    script.write_text(printed(capsys, "completion", shell))
    ended = subprocess.run([shell, "-n", str(script)], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr


def chosen():
    """(command, option, words of which one is taken) of each."""
    for name, _, command in _shell.commands(PARSER):
        for names, _, value in _shell.options(command):
            if value and _shell.offered(value):
                yield name, names[-1], _shell.offered(value)


def test_words_of_which_one_is_taken_are_told_everywhere(capsys):
    """By the help of the command, by completion of each shell, and by the manual; devices are those that are here."""
    assert {(name, option) for name, option, _ in chosen()} >= {
        ("recon", "--method"),
        ("recon", "--lambda"),
        ("recon", "--device"),
        ("demo", "--size"),
        ("demo", "--device"),
    }
    page = printed(capsys, "man")
    scripts = [printed(capsys, "completion", shell) for shell in _shell.SHELLS]
    for name, option, words in chosen():
        with pytest.raises(SystemExit) as ended:
            main([name, "--help"])
        told = " ".join(capsys.readouterr().out.split())
        assert ended.value.code == 0
        for word in words if option != "--device" else ("cpu", "sim:0", "cuda:0"):
            assert word in told and word in page.replace("\\-", "-")
        for script in scripts:
            lines = [line for line in script.replace("\\:", ":").splitlines() if option.lstrip("-") in line]
            assert any(all(word in line for word in words) for line in lines), (name, option)


def test_words_are_those_that_are_understood():
    from tessera.imaging import _demo, _recon, _recon_options

    assert _recon_options.METHODS == _offered.METHODS and {"grid", *_recon._RECIPES} == set(_offered.METHODS)
    assert tuple(_demo.SIZES) == _offered.SIZES
    options = {"scan": "a.h5", "output": "b.npy"}
    for word in _offered.STRENGTHS:
        assert _recon_options.ReconOptions(**options, lamda=word).strength() == word


def test_a_shell_that_is_not_known_is_refused(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["completion", "tcsh"])
    assert ended.value.code == 2 and "bash" in capsys.readouterr().err


def test_the_manual_names_all_that_there_is(capsys, tmp_path):
    page = printed(capsys, "man")
    assert page.startswith(".TH TESSERA 1 ")
    assert re.findall(r"^\.SS tessera (.+)$", page, re.M) == COMMANDS
    for _, _, command in _shell.commands(PARSER):
        for names, _, _ in _shell.options(command):
            for option in names:
                assert f"\\fB{option.replace('-', chr(92) + '-')}\\fR" in page
    assert main(["man", "-o", str(tmp_path / "tessera.1")]) == 0
    assert (tmp_path / "tessera.1").read_text() == page
    for wrong in (tmp_path / "none" / "tessera.1", tmp_path):
        assert main(["man", "-o", str(wrong)]) == 1
        said = capsys.readouterr().err
        assert said.startswith("tessera: man: ") and said.count("\n") == 1 and str(wrong) in said


@needs("groff")
def test_groff_finds_no_fault(capsys):
    page = printed(capsys, "man")
    ended = subprocess.run(["groff", "-man", "-Tascii", "-ww"], input=page, capture_output=True, text=True, timeout=60)
    if "can't open" in ended.stderr or "cannot" in ended.stderr:
        pytest.skip("groff without its macros here")
    assert ended.returncode == 0 and ended.stderr == ""
    shown = re.sub(r"\x1b\[[0-9;]*m|.\x08", "", ended.stdout)
    assert "tessera doctor" in shown and "--no-disk" in shown
