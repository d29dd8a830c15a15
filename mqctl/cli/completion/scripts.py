"""The completion scripts. All of them ask `mqctl __complete WORDS...`, which answers without importing typer."""

from __future__ import annotations

_BASH = """\
# bash completion for mqctl
_mqctl() {
    # bash breaks words at `:`, `=` and `@`, which client ids and `--option=value` contain: split the line itself.
    local before=${COMP_LINE:0:COMP_POINT} line current prefix
    local -a words=()
    IFS=$' \\t\\n' read -r -a words <<< "$before"
    case $before in *[[:space:]]) words+=("") ;; esac
    current=${words[${#words[@]}-1]}
    prefix=${current%"${current##*[:=]}"}
    case ${current#"$prefix"} in *@*) prefix=${current%"@${current##*@}"} ;; esac  # it keeps the `@` itself
    COMPREPLY=()
    while IFS= read -r line; do
        line=${line%%$'\\t'*}
        COMPREPLY+=("${line#"$prefix"}")
    done < <("${words[0]}" __complete "${words[@]:1}" 2>/dev/null)
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
    set -l answers (command $before[1] __complete $before[2..-1] "$current" 2>/dev/null)
    if test (count $answers) -gt 0
        printf '%s\\n' $answers
    else
        __fish_complete_path "$current"
    end
end
complete -c mqctl -f -a '(__mqctl_complete)'
"""

_SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}
FILE_NAMES = {"bash": "mqctl.bash", "zsh": "_mqctl", "fish": "mqctl.fish"}


def script(shell: str) -> str:
    """Returns the completion script of `shell` (bash, zsh or fish)."""
    return _SCRIPTS[shell]
