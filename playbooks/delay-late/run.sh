#!/usr/bin/env bash
# delay-late: Delayed messages are late, or will not come
# Generated from playbook.yaml by docs/generate.py; do not edit.
#
# playbooks/delay-late/run.sh
#   BROKER: only this broker
#   STORE: the store directory of a stopped broker, or a copy
# The cluster is the one of MQCTL_NAMESRV or MQCTL_PROFILE. Nothing is changed here: changes are shown as plans.
# `mqctl playbook run delay-late` does the same with decisions, changes, time limits and a report.
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

# 1. What do delay offsets and schedule queues say?
step "0 1 2 3" mqctl delay check ${STORE:+--store "${STORE}"} ${BROKER:+--broker "${BROKER}"}

# 2. What waits on each level, and what is due next?
step "0 69 74 75 76" mqctl delay levels ${STORE:+--store "${STORE}"} ${BROKER:+--broker "${BROKER}"}

# 3. Can brokers write? Delivery is a write, and stops when the disk is full (above 90 %).
if [ -z "$STORE" ]; then
  step "0 69 74 75 76" mqctl broker list
fi

# 4. Do clocks jump? Due times are store time plus delay.
if [ -n "$STORE" ]; then
  step "0 1 3" mqctl doctor --store "${STORE}" --only MQ107 --only MQ713
fi

# 5. Set each level to its first message without a delivered copy (broker stopped).
echo 'then, when store && (contains(codes, '"'"'MQ701'"'"') || contains(codes, '"'"'MQ702'"'"') || contains(codes, '"'"'MQ703'"'"') || contains(codes, '"'"'MQ704'"'"') || contains(codes, '"'"'MQ706'"'"')): mqctl delay repair --store STORE'

# 6. Send what no level will deliver again, with what is left of its delay.
echo 'then, when broker && !store && contains(codes, '"'"'MQ705'"'"'): mqctl delay repair --resend --broker BROKER'

# 7. Is it over?
step "0 1 2 3" mqctl delay check ${STORE:+--store "${STORE}"} ${BROKER:+--broker "${BROKER}"}
