"""Words around playbooks: how steps and runs end, and what their parts are."""

from __future__ import annotations

from mqctl.text import sentence

STATES = {
    "expected": sentence("playbook-state-expected", "as expected"),
    "changed": sentence("playbook-state-changed", "changed"),
    "planned": sentence("playbook-state-planned", "planned only, nothing was changed"),
    "skipped": sentence("playbook-state-skipped", "skipped"),
    "decided": sentence("playbook-state-decided", "decided"),
    "undecided": sentence("playbook-state-undecided", "not decided"),
    "unexpected": sentence("playbook-state-unexpected", "not expected"),
    "timed-out": sentence("playbook-state-timed-out", "out of time"),
    "refused": sentence("playbook-state-refused", "not confirmed"),
    "interrupted": sentence("common-interrupted", "interrupted"),
}
"""By the state of a step."""
ENDINGS = {
    "complete": sentence("playbook-ending-complete", "all steps ran."),
    "done": sentence("playbook-ending-done", "nothing more to do."),
    "attention": sentence("playbook-ending-attention", "action required:"),
    "undecided": sentence("playbook-ending-undecided", "stopped at a decision:"),
    "unexpected": sentence("playbook-ending-unexpected", "stopped in the middle by an unexpected result:"),
    "refused": sentence("playbook-ending-refused", "stopped before a change:"),
    "timed-out": sentence("playbook-ending-timed-out", "stopped in the middle, out of time:"),
    "other-cluster": sentence("playbook-ending-other-cluster", "stopped, this is another cluster than intended:"),
    "no-cluster": sentence("playbook-ending-no-cluster", "stopped, the cluster could not be identified:"),
    "interrupted": sentence("playbook-ending-interrupted", "interrupted."),
}
"""By the ending of a run."""
STOPS = {
    "done": sentence("playbook-stop-done", "ends here, nothing more to do"),
    "attention": sentence("playbook-stop-attention", "stopped: action required"),
}
"""By the stop of a result."""
KINDS = {
    "reads": sentence("playbook-reads", "reads"),
    "changes": sentence("playbook-changes", "changes the cluster"),
    "decision": sentence("playbook-decision", "you decide"),
    "exit": sentence("playbook-exit", "exit"),
    "result": sentence("playbook-result", "result"),
    "choice": sentence("playbook-choice", "choice"),
}
"""By the kind of a step, and of what it may come to."""
PARAMETERS = sentence("playbook-parameters", "parameters:")
ROLLBACK = sentence("playbook-rollback", "rollback:")
