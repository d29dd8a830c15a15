#!/usr/bin/env bash
# expired-before-consumption: Messages expired before they were consumed
# Generated from playbook.yaml by docs/generate.py; do not edit.
#
# GROUP=... playbooks/expired-before-consumption/run.sh
#   GROUP: the consumer group
#   TOPIC: the topic; needed to move offsets
#   HOURS: retention to set, in hours
# The cluster is the one of MQCTL_NAMESRV or MQCTL_PROFILE. Nothing is changed here: changes are shown as plans.
# `mqctl playbook run expired-before-consumption` does the same with decisions, changes, time limits and a report.
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
HOURS=${HOURS:-}

# 1. How much is gone, and how much is left?
step "0 69 74 75 76" mqctl group lag -g "${GROUP}" ${TOPIC:+-t "${TOPIC}"}

# 2. Are more about to expire?
step "0 1 2 3" mqctl doctor -g "${GROUP}" ${TOPIC:+-t "${TOPIC}"} --only MQ402 --only MQ403

# 3. How long do brokers keep messages, and when do they delete?
step "0 69 74 75 76" mqctl broker config --key fileReservedTime --key deleteWhen --key diskMaxUsedSpaceRatio --key cleanFileForciblyEnable

# 4. Is there room for a longer retention?
step "0 69 74 75 76" mqctl broker list

# 5. Keep messages for so many hours, on every master.
if [ -n "$HOURS" ]; then
  step "0" mqctl broker set "fileReservedTime=${HOURS}"
fi

# 6. Bring the group's offsets inside the queues; queues that are inside stay as they are.
echo 'then, when topic && lost > `0`: mqctl offset reset -g GROUP -t TOPIC --to-current'

# 7. What is gone can only come from elsewhere.
echo 'decide: resend: The sender publishes it again from its own database.'
echo 'decide: backup: A copy of the store or a slave with a longer retention has it: `mqctl store cat --store DIR -t TOPIC --offset 0`'
echo 'decide: accept: Write down the stretch that is lost, and accept it.'
