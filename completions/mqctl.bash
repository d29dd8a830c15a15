# bash completion for mqctl
_mqctl() {
    # bash breaks words at `:`, `=` and `@`, which client ids and `--option=value` contain: split the line itself.
    local before=${COMP_LINE:0:COMP_POINT} line current prefix
    local -a words=()
    IFS=$' \t\n' read -r -a words <<< "$before"
    case $before in *[[:space:]]) words+=("") ;; esac
    current=${words[${#words[@]}-1]}
    prefix=${current%"${current##*[:=]}"}
    case ${current#"$prefix"} in *@*) prefix=${current%"@${current##*@}"} ;; esac  # it keeps the `@` itself
    COMPREPLY=()
    while IFS= read -r line; do
        line=${line%%$'\t'*}
        COMPREPLY+=("${line#"$prefix"}")
    done < <("${words[0]}" __complete "${words[@]:1}" 2>/dev/null)
}
complete -o default -o nosort -F _mqctl mqctl 2>/dev/null || complete -o default -F _mqctl mqctl
