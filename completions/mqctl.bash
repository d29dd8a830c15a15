# bash completion for mqctl
_mqctl() {
    local IFS=$'\n' line
    local words=("${COMP_WORDS[@]:1:COMP_CWORD}")
    COMPREPLY=()
    while IFS= read -r line; do
        COMPREPLY+=("${line%%$'\t'*}")
    done < <("${COMP_WORDS[0]}" __complete "${words[@]}" 2>/dev/null)
}
complete -o default -o nosort -F _mqctl mqctl 2>/dev/null || complete -o default -F _mqctl mqctl
