#!/usr/bin/env bash
# slave-behind: A slave is behind, or does not follow its master
# Generated from playbook.yaml by docs/generate.py; do not edit.
#
# playbooks/slave-behind/run.sh
#   BROKER: name of the broker whose slave it is
#   STORE: store directory of the master, or a copy
#   SLAVE_STORE: store directory of the slave, or a copy
#   WINDOW: time between two looks
# The cluster is the one of MQCTL_NAMESRV or MQCTL_PROFILE. Nothing is changed here: changes are shown as plans.
# `mqctl playbook run slave-behind` does the same with decisions, changes, time limits and a report.
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

BROKER=${BROKER:-}
STORE=${STORE:-}
SLAVE_STORE=${SLAVE_STORE:-}
WINDOW=${WINDOW:-30s}

# 1. What do the slaves really have of their masters' logs?
step "0 69 74 75 76" mqctl ha status

# 2. Which of the ways to fall behind is it?
step "0 1 2 3" mqctl doctor --window "${WINDOW}" --only MQ116 --only MQ130 --only MQ131 --only MQ132 --only MQ133 --only MQ137 --only MQ139 --only MQ140

# 3. Does the replication port answer? A slave needs it from its own machine.
if [ -n "$BROKER" ]; then
  step "0 66 69 74 75 76" mqctl broker reach "${BROKER}"
fi

# 4. Are the two logs the same as far as both go, and what does only one have?
if [ -n "$STORE" ] && [ -n "$SLAVE_STORE" ]; then
  step "0 1 2 3" mqctl ha compare --store "${STORE}" --store "${SLAVE_STORE}"
fi

# 5. What is to be done?
echo 'decide: wait: It gains on its master: wait, and look again. Until then do not fail over to it.'
echo 'decide: mend: Restart the slave, or fix its disk, port or address: it goes on at the end of its log.'
echo 'decide: rebuild: Stop the slave, put its store aside, copy the stopped master'"'"'s store or start empty: empty, it gets the master'"'"'s last file only.'
