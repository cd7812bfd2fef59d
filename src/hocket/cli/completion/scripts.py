"""The scripts for bash, zsh and fish: each finds the place where the cursor is, and offers what may stand there.

The place is the first word, if that is a command, and the second, if that is one of its own; any other first word belongs
to the command that was left out. A script is only data and a few lines of its shell: no Python runs when Tab is pressed.
"""

import shlex
from collections.abc import Iterable, Iterator, Sequence

from hocket.cli.completion.tree import ROOT, CommandPlace, Value
from hocket.cli.default_command import DEFAULT

__all__ = ["write_script"]


def write_script(shell: str, places: Sequence[CommandPlace]) -> str:
    """Return the script for ``bash``, ``zsh`` or ``fish``."""
    outer = " ".join(places[0].commands)
    inner = " ".join(place.name for place in places if "/" in place.name)
    template, lines = {
        "bash": (_BASH, _write_bash(places)),
        "zsh": (_ZSH, _write_zsh(places)),
        "fish": (_FISH, _write_fish(places)),
    }[shell]
    for name, text in {"OUTER": outer, "INNER": inner, "ROOT": ROOT, "DEFAULT": DEFAULT}.items():
        template = template.replace(f"@{name}@", text)
    return template.replace("@LINES@", "\n".join(lines))


_BASH = r"""# Completion of hocket for bash:  eval "$(hocket completion bash)"
_hocket() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} at=@ROOT@ words=
    local IFS=$' \t\n'
    COMPREPLY=()
    [[ $cur == : || $prev == : ]] && return  # bash begins a word there: the name of a model, which nobody here knows
    if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi
    if ((COMP_CWORD > 1)); then
        at=${COMP_WORDS[1]}
        [[ " @OUTER@ " == *" $at "* ]] || at=@DEFAULT@
        if ((COMP_CWORD > 2)) && [[ " @INNER@ " == *" $at/${COMP_WORDS[2]} "* ]]; then at=$at/${COMP_WORDS[2]}; fi
    fi
    case "$at $prev" in
@LINES@
    esac
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
    [[ ${COMPREPLY[0]} == *: ]] && compopt -o nospace 2>/dev/null
    return 0
}
_hocket_files() {
    local IFS=$'\n'
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -f -- "$1"))
}
complete -F _hocket hocket"""


def _write_bash(places: Iterable[CommandPlace]) -> Iterator[str]:
    def offer(value: Value) -> str:
        return '_hocket_files "$cur"; return' if value.is_path else f"words={shlex.quote(' '.join(value.words))}"

    for place in places:
        for option in place.options:
            if option.value is not None:
                patterns = "|".join(shlex.quote(f"{place.name} {flag}") for flag in option.flags)
                yield f"        {patterns}) {offer(option.value)} ;;"
    for place in places:
        flags = " ".join(flag for option in place.options for flag in option.flags)
        other = offer(Value((*place.commands, *place.argument.words), place.argument.is_path))
        pattern = f"{shlex.quote(f'{place.name} ')}*"
        yield f"        {pattern}) if [[ $cur == -* ]]; then words={shlex.quote(flags)}; else {other}; fi ;;"


_ZSH = """#compdef hocket
# Completion of hocket for zsh, behind compinit:  eval "$(hocket completion zsh)"
_hocket() {
    local cur=$words[CURRENT] prev=$words[CURRENT-1] at=@ROOT@
    local -a flags=() commands=()
    if [[ $cur == --*=* ]]; then prev=${cur%%=*}; compset -P '*='; fi
    if ((CURRENT > 2)); then
        at=$words[2]
        [[ " @OUTER@ " == *" $at "* ]] || at=@DEFAULT@
        if ((CURRENT > 3)) && [[ " @INNER@ " == *" $at/$words[3] "* ]]; then at=$at/$words[3]; fi
    fi
    case "$at $prev" in
@LINES@
    esac
    if [[ $cur == -* ]]; then _describe -o option flags; elif (($#commands)); then _describe command commands; fi
}
_hocket_words() { compadd -- ${@:#*:}; compadd -S '' -- ${(M)@:#*:}; }
if [[ $funcstack[1] == _hocket ]]; then _hocket "$@"; else compdef _hocket hocket; fi"""


def _write_zsh(places: Iterable[CommandPlace]) -> Iterator[str]:
    def offer(value: Value) -> str:
        return "_files" if value.is_path else shlex.join(["_hocket_words", *value.words]) if value.words else ":"

    for place in places:
        for option in place.options:
            if option.value is not None:
                patterns = "|".join(shlex.quote(f"{place.name} {flag}") for flag in option.flags)
                yield f"        {patterns}) {offer(option.value)}; return ;;"
    for place in places:
        flags = shlex.join(f"{flag}:{option.help}" for option in place.options for flag in option.flags)
        commands = shlex.join(f"{word}:{text}" for word, text in place.commands.items())
        yield f"        {shlex.quote(place.name + ' ')}*)"
        yield f"            flags=({flags})"
        yield f"            commands=({commands})"
        yield f"            [[ $cur == -* ]] || {offer(place.argument)} ;;"


_FISH = """# Completion of hocket for fish:  hocket completion fish >~/.config/fish/completions/hocket.fish
function __hocket_at
    set -l before (commandline -opc)
    set -l at @ROOT@
    if test (count $before) -gt 1
        set at $before[2]
        contains -- $at @OUTER@; or set at @DEFAULT@
        if test (count $before) -gt 2; and contains -- $at/$before[3] @INNER@
            set at $at/$before[3]
        end
    end
    test $at = $argv[1]
end
complete -c hocket -f
@LINES@"""


def _write_fish(places: Iterable[CommandPlace]) -> Iterator[str]:
    def offer(value: Value) -> str:
        return "-F" if value.is_path else f"-a {_quote_fish(' '.join(value.words))}" if value.words else ""

    for place in places:
        start = f"complete -c hocket -n '__hocket_at {place.name}'"
        for word, text in place.commands.items():
            yield f"{start} -a {word} -d {_quote_fish(text)}"
        if place.argument != Value():
            yield f"{start} {offer(place.argument)}"
        for option in place.options:
            flags = " ".join(f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags)
            line = f"{start} {flags} -d {_quote_fish(option.help)}"
            yield (
                line
                if option.value is None
                else f"{line} {'-r' if option.value.is_path else '-x'} {offer(option.value)}".rstrip()
            )


def _quote_fish(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
