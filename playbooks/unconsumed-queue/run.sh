#!/usr/bin/env bash
# unconsumed-queue: Queues that nobody consumes, or two instances do
# Generated from playbook.yaml by docs/generate.py; do not edit.
#
# GROUP=... playbooks/unconsumed-queue/run.sh
#   GROUP: the consumer group
#   TOPIC: only this topic
#   WINDOW: time between two looks; a rebalance takes 20 s
# The cluster is the one of MQCTL_NAMESRV or MQCTL_PROFILE. Nothing is changed here: changes are shown as plans.
# `mqctl playbook run unconsumed-queue` does the same with decisions, changes, time limits and a report.
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
TOPIC=${TOPIC:-}
WINDOW=${WINDOW:-60s}

# 1. Which queue belongs to whom, by the instances themselves and by calculation?
step "0 69 74 75 76" mqctl allocation show -g "${GROUP}" ${TOPIC:+-t "${TOPIC}"}

# 2. Why? Looks twice, because queues are on the move for 20 s after every join and leave.
step "0 1 2 3" mqctl doctor -g "${GROUP}" ${TOPIC:+-t "${TOPIC}"} --window "${WINDOW}" --only MQ202 --only MQ205 --only MQ206 --only MQ210 --only MQ212 --only MQ309 --only MQ310 --only MQ313 --only MQ601 --only MQ611 --only MQ616

# 3. What does each instance subscribe? One group must mean one identical subscription.
step "0 2 3 69 74 75 76" mqctl subscription check -g "${GROUP}"

# 4. Who is online, from where, by which version?
step "0 69 74 75 76" mqctl group members -g "${GROUP}"
