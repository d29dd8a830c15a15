#!/usr/bin/env bash
# stuck-consumer: A consumer stands still
# Generated from playbook.yaml by docs/generate.py; do not edit.
#
# GROUP=... playbooks/stuck-consumer/run.sh
#   GROUP: the consumer group
#   WINDOW: time between two looks at what moves
#   CLIENT: only this instance's stacks
# The cluster is the one of MQCTL_NAMESRV or MQCTL_PROFILE. Nothing is changed here: changes are shown as plans.
# `mqctl playbook run stuck-consumer` does the same with decisions, changes, time limits and a report.
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
WINDOW=${WINDOW:-60s}
CLIENT=${CLIENT:-}

# 1. Which queues stand, and who holds them?
step "0 69 74 75 76" mqctl group lag -g "${GROUP}" --by queue

# 2. Does the broker deliver to this group at all?
step "0 69 74 75 76" mqctl group describe -g "${GROUP}"

# 3. Let brokers deliver to the group again.
echo 'then, when disabled > `0`: mqctl group update -g GROUP --consume'

# 4. What do the consume threads do? Three dumps distinguish waiting from working.
step "0 69 74 75 76" mqctl stacks dump -g "${GROUP}" ${CLIENT:+--client "${CLIENT}"} --explain

# 5. For orderly listeners, who holds the queue locks?
step "0 69 74 75 76" mqctl lock show -g "${GROUP}"

# 6. What do all rules say together?
step "0 1 2 3" mqctl doctor -g "${GROUP}" --window "${WINDOW}" --only 'MQ30[4678]' --only MQ408 --only MQ410 --only 'MQ50[123]'
