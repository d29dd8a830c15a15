# fish completion for mqctl
function __mqctl_complete
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    command $before[1] __complete $before[2..-1] $current 2>/dev/null
end
complete -c mqctl -a '(__mqctl_complete)'
