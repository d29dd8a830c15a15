#!/usr/bin/env bash
# subscription-change: A subscription is changed, or does not fit the group
# Generated from playbook.yaml by docs/generate.py; do not edit.
#
# GROUP=... playbooks/subscription-change/run.sh
#   GROUP: the consumer group
#   TOPIC: the topic whose subscription changes, or that the group left
#   TAGS: the new tags, paid || refunded
#   NEW_GROUP: a group of its own for the new subscription
# The cluster is the one of MQCTL_NAMESRV or MQCTL_PROFILE. Nothing is changed here: changes are shown as plans.
# `mqctl playbook run subscription-change` does the same with decisions, changes, time limits and a report.
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
TAGS=${TAGS:-}
NEW_GROUP=${NEW_GROUP:-}

# 1. What does not fit now?
step "0 1 2 3" mqctl doctor -g "${GROUP}" --only MQ201 --only MQ203 --only MQ204 --only MQ207 --only MQ208 --only MQ209 --only MQ211 --only MQ604

# 2. Who wants what, and what do brokers filter by?
step "0 2 3 69 74 75 76" mqctl subscription check -g "${GROUP}"

# 3. What would a rolling release to the new tags lose half way?
if [ -n "$TOPIC" ] && [ -n "$TAGS" ]; then
  step "0" mqctl subscription simulate -g "${GROUP}" -t "${TOPIC}" --to "${TAGS}" --instances 1
fi

# 4. How is the change made?
echo 'decide: new_group: A group of its own with the new subscription, from the offsets of the old one. Loses nothing; both consume until the old one is stopped.'
echo 'decide: stop_all: Stop all instances, deploy, start all. Loses nothing: while nobody is online offsets stand.'
echo 'decide: leave_topic: Give the topic that nobody of the group wants any more up: its offsets go to the end, what is skipped is written down.'

# 5. Give the new group the offsets of the old one.
echo 'then, when choice.way == '"'"'new_group'"'"' && topic && new_group: mqctl offset clone --from GROUP -g NEW_GROUP -t TOPIC'

# 6. Give up what waits in the topic that was left.
echo 'then, when choice.way == '"'"'leave_topic'"'"' && topic: mqctl offset skip -g GROUP -t TOPIC'
