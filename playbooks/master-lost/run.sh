#!/usr/bin/env bash
# master-lost: A master is gone and its slave is there
# Generated from playbook.yaml by docs/generate.py; do not edit.
#
# playbooks/master-lost/run.sh
#   BROKER: name of the broker whose master is gone
#   GROUP: a consumer group that reads from it
#   STORE: store directory of the dead master, where it is within reach
#   SLAVE_STORE: store directory of its slave, or a copy
#   WINDOW: time between two looks after the master is back
# The cluster is the one of MQCTL_NAMESRV or MQCTL_PROFILE. Nothing is changed here: changes are shown as plans.
# `mqctl playbook run master-lost` does the same with decisions, changes, time limits and a report.
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
GROUP=${GROUP:-}
STORE=${STORE:-}
SLAVE_STORE=${SLAVE_STORE:-}
WINDOW=${WINDOW:-30s}

# 1. Which masters are there, and what do their slaves have?
step "0 69 74 75 76" mqctl ha status

# 2. Can the slave serve what it has? It needs its master's topics, groups and offsets.
step "0 1 2 3" mqctl doctor --only MQ609 --only MQ132 --only MQ139

# 3. What did the master have that the slave lacks? It is not readable until the master is back.
if [ -n "$STORE" ] && [ -n "$SLAVE_STORE" ]; then
  step "0 1 2 3" mqctl ha compare --store "${STORE}" --store "${SLAVE_STORE}"
fi

# 4. Where does the group stand? Of a broker without a master its slave tells.
if [ -n "$GROUP" ]; then
  step "0 69 74 75 76" mqctl group lag -g "${GROUP}"
fi

# 5. What is to be done?
echo 'decide: start: Start the master on its store. What it had not sent reaches the slave, and its older offsets win: keep consumers running, they commit theirs again within 5 s.'
echo 'decide: came_back: It has just come back: see what is read twice.'
echo 'decide: lost_for_good: Its disk is gone: stop the slave, start it with brokerId=0 and a master'"'"'s role. What is named above as not readable is lost.'

# 6. Which groups went back, and by how much? They read that twice.
echo 'then, when choice.way == '"'"'came_back'"'"': mqctl doctor --window WINDOW --only MQ411'
