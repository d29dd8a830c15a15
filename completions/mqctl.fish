# fish completion for mqctl
function __mqctl_complete
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    set -l answers (command $before[1] __complete $before[2..-1] "$current" 2>/dev/null)
    if test (count $answers) -gt 0
        printf '%s\n' $answers
    else
        __fish_complete_path "$current"
    end
end
complete -c mqctl -f -a '(__mqctl_complete)'
