#!/usr/bin/env bash
# damaged-store: A broker's store is damaged
# Generated from playbook.yaml by docs/generate.py; do not edit.
#
# STORE=... playbooks/damaged-store/run.sh
#   STORE: the store directory of the stopped broker, or a copy
#   TOPIC: a topic to look into
# The cluster is the one of MQCTL_NAMESRV or MQCTL_PROFILE. Nothing is changed here: changes are shown as plans.
# `mqctl playbook run damaged-store` does the same with decisions, changes, time limits and a report.
set -uo pipefail

step() { # EXPECTED-EXITS COMMAND...
  local expected=" $1 " code=0
  shift
  printf '\n$ %s\n' "$*"
  "$@" || code=$?
  case "$expected" in
    *" $code "*) ;;
    *)
      printf 'exit %s was not expected here: stop, and look\n' "$code" >&2
      exit 2
      ;;
  esac
}

: "${STORE:?the store directory of the stopped broker, or a copy}"
TOPIC=${TOPIC:-}

# 1. What is there? Nothing here writes to the directory.
step "0" mqctl store describe --store "${STORE}"

# 2. Is every record, queue entry and index entry as it should be?
step "0 1 2 3" mqctl store verify --store "${STORE}"

# 3. What does it mean for messages and groups?
step "0 1 2 3" mqctl doctor --store "${STORE}" --only MQ104 --only MQ105 --only MQ106 --only MQ143 --only MQ404

# 4. What can still be read of the topic?
if [ -n "$TOPIC" ]; then
  step "0" mqctl store cat --store "${STORE}" -t "${TOPIC}" -q 0 --count 5
fi

# 5. Where do the messages come from?
echo 'decide: slave: A slave is whole (verify its store too): it becomes the source; copy its store, or promote it.'
echo 'decide: rebuild: Only consumequeue or index are damaged: move these directories away; the broker rebuilds them from the commit log.'
echo 'decide: salvage: The commit log itself is damaged: save what is readable with `mqctl store cat --store STORE` and publish it to a new broker.'
