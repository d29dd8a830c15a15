#!/usr/bin/env bash
# failover-drill: Failover drill with masters and slaves
# Generated from playbook.yaml by docs/generate.py; do not edit.
#
# playbooks/failover-drill/run.sh
#   BROKER: name of the broker that loses its master
#   GROUP: a consumer group that reads from it
#   STORE: store directory of the dead master, or a copy
#   SLAVE_STORE: store directory of its slave, or a copy
#   WINDOW: time between two looks
# The cluster is the one of MQCTL_NAMESRV or MQCTL_PROFILE. Nothing is changed here: changes are shown as plans.
# `mqctl playbook run failover-drill` does the same with decisions, changes, time limits and a report.
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

# 2. Where is the drill?
echo 'decide: before: Nothing is lost yet: is it ready for the drill?'
echo 'decide: down: The master is dead, by kill -9 or with its room: who reads what?'
echo 'decide: back: The master is back: what is read twice, and is all of it there?'

# 3. Would a failover lose more than the last 100 ms of ASYNC_MASTER?
echo 'then, when choice.phase == '"'"'before'"'"': mqctl doctor --only MQ116 --only MQ130 --only MQ131 --only MQ132 --only MQ135 --only MQ137 --only MQ139 --only MQ140 --only MQ141 --only MQ142'

# 4. Does the slave serve what it has?
echo 'then, when choice.phase == '"'"'down'"'"': mqctl doctor --only MQ609 --only MQ139'

# 5. Does the group go on at the slave?
echo 'then, when choice.phase == '"'"'down'"'"' && group: mqctl group lag -g GROUP --by queue'

# 6. What cannot be read now, and what will be read twice?
echo 'then, when choice.phase == '"'"'down'"'"' && store && slave_store: mqctl ha compare --store STORE --store SLAVE_STORE'

# 7. Which groups went back when the master returned?
echo 'then, when choice.phase == '"'"'back'"'"': mqctl doctor --window WINDOW --only MQ411 --only MQ132 --only MQ133'

# 8. Does the group work off what it could not read before?
echo 'then, when choice.phase == '"'"'back'"'"' && group: mqctl group lag -g GROUP'
