#!/usr/bin/env bash
# room-lost: A machine room is lost, or carries too much
# Generated from playbook.yaml by docs/generate.py; do not edit.
#
# GROUP=... TOPIC=... playbooks/room-lost/run.sh
#   GROUP: the consumer group
#   TOPIC: the topic
#   ROOM_RULE: how the room is read from names: prefix:-, prefix:@, regex:PATTERN, map:FILE
#   ROOM: a room whose loss is to be computed beforehand
#   WINDOW: time between two looks at the rates
#   BROKER: a broker of the room that producers shall leave or return to
# The cluster is the one of MQCTL_NAMESRV or MQCTL_PROFILE. Nothing is changed here: changes are shown as plans.
# `mqctl playbook run room-lost` does the same with decisions, changes, time limits and a report.
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

: "${GROUP:?the consumer group}"
: "${TOPIC:?the topic}"
ROOM_RULE=${ROOM_RULE:-prefix:-}
ROOM=${ROOM:-}
WINDOW=${WINDOW:-30s}
BROKER=${BROKER:-}

# 1. What do the rules about rooms say?
step "0 1 2 3" mqctl doctor -g "${GROUP}" --room-rule "${ROOM_RULE}" --only MQ309 --only MQ611 --only MQ612 --only MQ613

# 2. Which queues cross rooms, and which have nobody?
step "0 69 74 75 76" mqctl allocation show -g "${GROUP}" -t "${TOPIC}" --room-rule "${ROOM_RULE}"

# 3. If that room is lost, what do the others have to carry, and can they?
if [ -n "$ROOM" ]; then
  step "0 64" mqctl allocation simulate -g "${GROUP}" -t "${TOPIC}" --room-rule "${ROOM_RULE}" --lose-room "${ROOM}" --window "${WINDOW}"
fi

# 4. Do those that are left keep up?
step "0 69 74 75 76" mqctl group lag -g "${GROUP}" -t "${TOPIC}" --advise --window "${WINDOW}"

# 5. What do the name servers list? Each room's own name servers may list their room only.
step "0 69 74 75 76" mqctl topic route -t "${TOPIC}"

# 6. What is to be done?
echo 'decide: carry: The other rooms carry it: add instances there until the lag above ends.'
echo 'decide: keep_away: Keep producers away from the lost room'"'"'s broker (-p broker) until it is well.'
echo 'decide: switch_back: The room is back: let producers write to its broker again (-p broker), start its consumers last.'

# 7. Take the broker's write permission away at the name servers.
echo 'then, when choice.way == '"'"'keep_away'"'"' && broker: mqctl broker write BROKER off'

# 8. Give the broker's write permission back at the name servers.
echo 'then, when choice.way == '"'"'switch_back'"'"' && broker: mqctl broker write BROKER on'
