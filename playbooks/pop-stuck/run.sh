#!/usr/bin/env bash
# pop-stuck: Popped messages are stuck, come twice, or hold up the rest
# Generated from playbook.yaml by docs/generate.py; do not edit.
#
# GROUP=... playbooks/pop-stuck/run.sh
#   GROUP: the consumer group
#   STORE: the store directory of a stopped broker, or a copy: only there ordered queues show what blocks them
# The cluster is the one of MQCTL_NAMESRV or MQCTL_PROFILE. Nothing is changed here: changes are shown as plans.
# `mqctl playbook run pop-stuck` does the same with decisions, changes, time limits and a report.
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
STORE=${STORE:-}

# 1. What is ready, invisible, due, and waiting for another try?
step "0 69 74 75 76" mqctl group lag -g "${GROUP}" ${STORE:+--store "${STORE}"}

# 2. Who consumes, and how?
if [ -z "$STORE" ]; then
  step "0 66 69 74 75 76" mqctl group members -g "${GROUP}"
fi

# 3. What do the rules say?
step "0 1 2 3" mqctl doctor -g "${GROUP}" ${STORE:+--store "${STORE}"} --only 'MQ41[67]' --only 'MQ42[0125]'

# 4. What do the consume threads do with what they hold?
echo 'then, when !store && (contains(codes, '"'"'MQ421'"'"') || contains(codes, '"'"'MQ425'"'"')): mqctl stacks dump -g GROUP --explain'

# 5. What is left?
step "0 69 74 75 76" mqctl group lag -g "${GROUP}" ${STORE:+--store "${STORE}"}
