#!/usr/bin/env bash
# tag-loss: Members of one group want different tags
# Generated from playbook.yaml by docs/generate.py; do not edit.
#
# GROUP=... playbooks/tag-loss/run.sh
#   GROUP: the consumer group
#   TOPIC: the topic; needed for the replay
#   SINCE: when the members began to differ
#   REPLAY_GROUP: a new group that consumes what was skipped
# The cluster is the one of MQCTL_NAMESRV or MQCTL_PROFILE. Nothing is changed here: changes are shown as plans.
# `mqctl playbook run tag-loss` does the same with decisions, changes, time limits and a report.
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
SINCE=${SINCE:-}
REPLAY_GROUP=${REPLAY_GROUP:-}

# 1. Do the members still differ?
step "0 2 3" mqctl doctor -g "${GROUP}" ${TOPIC:+-t "${TOPIC}"} --only MQ203

# 2. Who wants what, what do brokers filter by, and which tags get lost in which queues?
step "0 2 3 69 74 75 76" mqctl subscription check -g "${GROUP}"

# 3. Which instance owns which queue? Its tags decide for that queue.
step "0 69 74 75 76" mqctl allocation show -g "${GROUP}" ${TOPIC:+-t "${TOPIC}"}

# 4. How do the members get one subscription?
echo 'decide: align: Deploy one subscription to all instances of GROUP now; until the last one restarts, messages are still skipped.'
echo 'decide: new_group: Roll the deviating instances back, and give the new tags a group of their own: `mqctl playbook run subscription-change -p group=GROUP -p topic=TOPIC_AT_STAKE`'

# 5. Point a new group at the time when the members began to differ, to consume what was skipped.
if [ -n "$TOPIC" ] && [ -n "$SINCE" ] && [ -n "$REPLAY_GROUP" ]; then
  step "0" mqctl replay group -g "${REPLAY_GROUP}" -t "${TOPIC}" --since "${SINCE}"
fi
