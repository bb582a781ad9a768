# SPDX-License-Identifier: Apache-2.0
"""What shells and `man` know of the command `tessera`, made from its parser and so never behind it."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterator
from typing import Any

SHELLS = ("bash", "zsh", "fish")


def offer(action: argparse.Action, words: tuple[str, ...] | Callable[[], tuple[str, ...]]) -> None:
    """Words that shells offer for the value of an option. What reads it refuses others by a sentence of its own.
    A function is called only when a shell is told; where there is none, the help and the manual name the words."""
    told: Any = action
    told.offered = words
    if action.metavar is None and not callable(words):
        action.metavar = "{" + ",".join(words) + "}"


def offered(action: argparse.Action) -> tuple[str, ...]:
    """The words of which a value is one, or may be one; none where any is right."""
    words = getattr(action, "offered", None)
    return tuple(map(str, action.choices or ())) if words is None else words() if callable(words) else words


def commands(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str, argparse.ArgumentParser]]:
    """(name, one line of help, parser) of each command."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            said = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, command in action.choices.items():
                yield name, said.get(name, ""), command


def options(parser: argparse.ArgumentParser) -> Iterator[tuple[list[str], str, argparse.Action | None]]:
    """(names, help, itself where a value follows) of each option."""
    for action in parser._actions:
        if action.option_strings:
            yield list(action.option_strings), _help(parser, action), action if action.nargs != 0 else None


def positionals(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return [a for a in parser._actions if not a.option_strings and not isinstance(a, argparse._SubParsersAction)]


def _help(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    return (action.help or "") % {**vars(action), "prog": parser.prog}


def _words(parser: argparse.ArgumentParser) -> str:
    """What may follow a command: its options, and the words of which one is chosen."""
    chosen = [str(choice) for action in positionals(parser) for choice in action.choices or ()]
    return " ".join([*chosen, *(name for names, _, _ in options(parser) for name in names)])


def _takes_files(parser: argparse.ArgumentParser) -> bool:
    return any(not action.choices for action in positionals(parser))


def bash(parser: argparse.ArgumentParser) -> str:
    """For `eval "$(tessera completion bash)"`."""
    named = list(commands(parser))
    lines = [
        "_tessera() {",
        "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words= files=",
        '  if [ "$COMP_CWORD" = 1 ]; then',
        f"    words={shlex.quote(' '.join([*(name for name, _, _ in named), _words(parser)]))}",
        "  else",
        '    case "${COMP_WORDS[1]}" in',
    ]
    for name, _, command in named:
        files = " files=1" if _takes_files(command) else ""
        lines += [
            f"      {name}) words={shlex.quote(_words(command))}{files}",
            '        case "$before" in',
            *(f"          {'|'.join(n)}) {_bash_value(value)} ;;" for n, _, value in options(command) if value),
            "        esac ;;",
        ]
    lines += [
        "    esac",
        "  fi",
        "  local IFS=$' \\t\\n'",
        '  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")',
        '  if [ -n "$files" ] && [[ $word != -* ]]; then',
        '    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$word")',
        "  fi",
        "}",
        "complete -o filenames -F _tessera tessera",
    ]
    return "\n".join(lines) + "\n"


def _bash_value(value: argparse.Action) -> str:
    words = offered(value)
    return f"words={shlex.quote(' '.join(words))} files=" if words else "words= files=1"


def _zsh_text(text: str) -> str:
    for sign in "\\[]:":
        text = text.replace(sign, "\\" + sign)
    return text


def _zsh_value(action: argparse.Action) -> str:
    words = offered(action)
    return f"({' '.join(_zsh_text(word) for word in words)})" if words else "_files"


def _zsh_arguments(parser: argparse.ArgumentParser) -> list[str]:
    found = []
    for names, said, value in options(parser):
        for name in names:
            found.append(f"{name}[{_zsh_text(said)}]" + (f":value:{_zsh_value(value)}" if value else ""))
    for action in positionals(parser):
        found.append(f":{_zsh_text(action.dest)}:{_zsh_value(action)}")
    return [shlex.quote(text) for text in found]


def zsh(parser: argparse.ArgumentParser) -> str:
    """For a file `_tessera` in a folder of $fpath, or `eval "$(tessera completion zsh)"` after compinit."""
    lines = ["#compdef tessera", "_tessera() {", "  local -a commands", "  commands=("]
    lines += [f"    {shlex.quote(f'{name}:{_zsh_text(said)}')}" for name, said, _ in commands(parser)]
    lines += ["  )", "  if (( CURRENT == 2 )); then", "    _describe command commands", "    return", "  fi"]
    lines += ["  local chosen=$words[2]", "  shift words", "  (( CURRENT-- ))", "  case $chosen in"]
    for name, _, command in commands(parser):
        lines.append(f"    {name}) _arguments {' '.join(_zsh_arguments(command))} ;;")
    # As a file of $fpath it is the body of the function itself at the first Tab, and has to complete at once.
    lines += ["  esac", "}"]
    lines += [
        'if [ "$funcstack[1]" = "_tessera" ]; then',
        '  _tessera "$@"',
        "else",
        "  compdef _tessera tessera",
        "fi",
    ]
    return "\n".join(lines) + "\n"


def fish(parser: argparse.ArgumentParser) -> str:
    """For ~/.config/fish/completions/tessera.fish."""
    lines = []
    for name, said, command in commands(parser):
        lines.append(f"complete -c tessera -n __fish_use_subcommand -f -a {name} -d {shlex.quote(said)}")
        seen = shlex.quote(f"__fish_seen_subcommand_from {name}")
        if not _takes_files(command):
            lines.append(f"complete -c tessera -n {seen} -f")
        for names, text, value in options(command):
            flags = " ".join(f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in names)
            words = offered(value) if value else ()
            needs = f" -x -a {shlex.quote(' '.join(words))}" if words else " -r -F" if value else ""
            lines.append(f"complete -c tessera -n {seen} {flags}{needs} -d {shlex.quote(text)}")
        for action in positionals(command):
            if action.choices:
                lines.append(f"complete -c tessera -n {seen} -a {shlex.quote(' '.join(map(str, action.choices)))}")
    return "\n".join(lines) + "\n"


def completion(shell: str, parser: argparse.ArgumentParser) -> str:
    return {"bash": bash, "zsh": zsh, "fish": fish}[shell](parser)


def _roff(text: str) -> str:
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "\\(ga").replace("…", "...")
    return "\\&" + text if text.startswith((".", "'")) else text


def _value_name(action: argparse.Action) -> str:
    return str(action.metavar or action.dest.upper()).strip("{}").replace(",", "|")


def _roff_options(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in positionals(parser):
        names = "|".join(map(str, action.choices)) if action.choices else action.dest
        yield from (".TP", f"\\fI{_roff(names)}\\fR", _roff(_help(parser, action)))
    for action in parser._actions:
        if action.option_strings:
            names = ", ".join(f"\\fB{_roff(name)}\\fR" for name in action.option_strings)
            value = f" \\fI{_roff(_value_name(action))}\\fR" if action.nargs != 0 else ""
            yield from (".TP", names + value, _roff(_help(parser, action)))


def manual(parser: argparse.ArgumentParser, version: str) -> str:
    """The page tessera(1)."""
    lines = [
        f'.TH TESSERA 1 "" "tessera {_roff(version)}" "User commands"',
        *(".SH NAME", f"tessera \\- {_roff((parser.description or '').rstrip('.'))}"),
        *(".SH SYNOPSIS", ".B tessera", "\\fIcommand\\fR [\\fIoptions\\fR]", ".SH COMMANDS"),
    ]
    for name, said, command in commands(parser):
        lines += [f".SS tessera {_roff(name)}", _roff(said[:1].upper() + said[1:] + "."), *_roff_options(command)]
    lines += [
        *(".SH ENVIRONMENT", "Each setting of the library has a variable, for example"),
        *(
            "\\fBTESSERA_NUM_THREADS\\fR and \\fBTESSERA_HOST_BUDGET\\fR; the page on settings of the guide",
            "lists them.",
        ),
        *(
            ".SH EXIT STATUS",
            "0, or 1 after an error, which is a sentence on stderr, or 2 where the command is not one.",
        ),
    ]
    return "\n".join(lines) + "\n"
