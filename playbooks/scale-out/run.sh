#!/usr/bin/env bash
# scale-out: More instances, threads or queues
# Generated from playbook.yaml by docs/generate.py; do not edit.
#
# TOPIC=... playbooks/scale-out/run.sh
#   TOPIC: the topic
#   GROUP: the group that is scaled
#   QUEUES: queues that each broker shall have
#   NEW: a topic with more queues that exists already and takes the place of an ordered one
#   READER: the group that moves to the new topic; its consumers on the old one are stopped
#   WINDOW: time between two looks
# The cluster is the one of MQCTL_NAMESRV or MQCTL_PROFILE. Nothing is changed here: changes are shown as plans.
# `mqctl playbook run scale-out` does the same with decisions, changes, time limits and a report.
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

: "${TOPIC:?the topic}"
GROUP=${GROUP:-}
QUEUES=${QUEUES:-}
NEW=${NEW:-}
READER=${READER:-}
WINDOW=${WINDOW:-30s}

# 1. Which brokers and queues does the topic have?
step "0 69 74 75 76" mqctl topic describe -t "${TOPIC}"

# 2. What keeps it from spreading?
step "0 1 2 3" mqctl doctor -t "${TOPIC}" ${GROUP:+-g "${GROUP}"} --only MQ302 --only MQ303 --only MQ305 --only MQ602 --only MQ606 --only MQ607 --only MQ614

# 3. What bounds the group, and what would each remedy do?
if [ -n "$GROUP" ]; then
  step "0 69 74 75 76" mqctl group lag -g "${GROUP}" -t "${TOPIC}" --advise --window "${WINDOW}"
fi

# 4. Who would own what with two instances more?
if [ -n "$GROUP" ]; then
  step "0 66 69 74 75 76" mqctl allocation simulate -g "${GROUP}" -t "${TOPIC}" --add-clients 2
fi

# 5. Would the new number of queues send keys elsewhere?
if [ -n "$QUEUES" ]; then
  step "0 1 3" mqctl order check -t "${TOPIC}" --queues "${QUEUES}"
fi

# 6. Can a follower move the ordered topic to one with more queues while producers write, and in which steps?
if [ -n "$NEW" ]; then
  step "0 66" mqctl replay follow -t "${TOPIC}" --to "${NEW}"
fi

# 7. With the group's consumers on the old topic stopped, copy what they have not consumed, until nothing waits.
if [ -n "$NEW" ] && [ -n "$READER" ]; then
  step "0" mqctl replay follow -t "${TOPIC}" --to "${NEW}" --from-group "${READER}" --drain
fi

# 8. Reject what producers still send to the old topic.
if [ -n "$NEW" ] && [ -n "$READER" ]; then
  step "0" mqctl topic update -t "${TOPIC}" --perm R--
fi

# 9. Copy what was written meanwhile; nothing more can come.
if [ -n "$NEW" ] && [ -n "$READER" ]; then
  step "0" mqctl replay follow -t "${TOPIC}" --to "${NEW}" --drain
fi

# 10. Give the topic so many queues on each broker.
if [ -n "$QUEUES" ]; then
  step "0" mqctl topic update -t "${TOPIC}" --queues "${QUEUES}"
fi
