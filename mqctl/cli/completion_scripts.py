"""The completion scripts. All of them ask `mqctl __complete WORDS...`, which answers without importing typer."""

from __future__ import annotations

_BASH = """\
# bash completion for mqctl
_mqctl() {
    local IFS=$'\\n' line
    local words=("${COMP_WORDS[@]:1:COMP_CWORD}")
    COMPREPLY=()
    while IFS= read -r line; do
        COMPREPLY+=("${line%%$'\\t'*}")
    done < <("${COMP_WORDS[0]}" __complete "${words[@]}" 2>/dev/null)
}
complete -o default -o nosort -F _mqctl mqctl 2>/dev/null || complete -o default -F _mqctl mqctl
"""

_ZSH = """\
#compdef mqctl
_mqctl() {
    local -a answers
    local line
    while IFS= read -r line; do
        answers+=("${${line%%$'\\t'*}//:/\\\\:}:${line#*$'\\t'}")
    done < <("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)
    if (( ${#answers} )); then
        _describe 'mqctl' answers
    else
        _files
    fi
}
if [ "$funcstack[1]" = "_mqctl" ]; then
    _mqctl "$@"
else
    compdef _mqctl mqctl
fi
"""

_FISH = """\
# fish completion for mqctl
function __mqctl_complete
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    command $before[1] __complete $before[2..-1] $current 2>/dev/null
end
complete -c mqctl -a '(__mqctl_complete)'
"""

_SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}
FILE_NAMES = {"bash": "mqctl.bash", "zsh": "_mqctl", "fish": "mqctl.fish"}


def script(shell: str) -> str:
    """Returns the completion script of `shell` (bash, zsh or fish)."""
    return _SCRIPTS[shell]
