#!/usr/bin/env bash
# broker-down: A broker is down, or unwell
# Generated from playbook.yaml by docs/generate.py; do not edit.
#
# playbooks/broker-down/run.sh
#   BROKER: the broker in question
#   STORE: its store directory, where it is within reach
#   WINDOW: time between two looks
# The cluster is the one of MQCTL_NAMESRV or MQCTL_PROFILE. Nothing is changed here: changes are shown as plans.
# `mqctl playbook run broker-down` does the same with decisions, changes, time limits and a report.
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
WINDOW=${WINDOW:-30s}

# 1. Which brokers do name servers know, and which of them answer?
step "0 66 69 74 75 76 77" mqctl broker list

# 2. Is the broker in question known, and how is it?
if [ -n "$BROKER" ]; then
  step "0 66 69 74 75 76 77" mqctl broker describe "${BROKER}"
fi

# 3. What do the rules about brokers and routes say?
step "0 1 2 3" mqctl doctor --window "${WINDOW}" --only 'MQ11*' --only MQ504 --only MQ506 --only MQ603 --only MQ605 --only MQ608 --only MQ609 --only MQ610 --only MQ617 --only MQ618 --only MQ619 --only 'MQ62[01367]'

# 4. How did it stop, and what will its recovery do?
if [ -n "$STORE" ]; then
  step "0 1 2 3" mqctl doctor --store "${STORE}" --only 'MQ10*'
fi

# 5. What is to be done?
echo 'decide: start: Start it again on its store. What it had stored and not replicated becomes readable again.'
echo 'decide: keep_away: It limps: keep producers away (-p broker) while consumers drain it.'
echo 'decide: reopen: It is well again: let producers write (-p broker).'

# 6. Take the broker's write permission away at the name servers.
echo 'then, when choice.way == '"'"'keep_away'"'"' && broker: mqctl broker write BROKER off'

# 7. Give the broker's write permission back at the name servers.
echo 'then, when choice.way == '"'"'reopen'"'"' && broker: mqctl broker write BROKER on'
