#!/usr/bin/env bash
# backlog: A consumer group is behind
# Generated from playbook.yaml by docs/generate.py; do not edit.
#
# GROUP=... playbooks/backlog/run.sh
#   GROUP: the consumer group that is behind
#   TOPIC: only this topic
#   WINDOW: time between two looks at what moves
# The cluster is the one of MQCTL_NAMESRV or MQCTL_PROFILE. Nothing is changed here: changes are shown as plans.
# `mqctl playbook run backlog` does the same with decisions, changes, time limits and a report.
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

: "${GROUP:?the consumer group that is behind}"
TOPIC=${TOPIC:-}
WINDOW=${WINDOW:-60s}

# 1. How far is the group behind, by count and by time?
step "0 69 74 75 76" mqctl group lag -g "${GROUP}" ${TOPIC:+-t "${TOPIC}"}

# 2. Is anybody online, and what does each instance hold?
step "0 69 74 75 76" mqctl group members -g "${GROUP}"

# 3. Which rule names the cause? The doctor looks twice, and at the consume threads.
step "0 1 2 3" mqctl doctor -g "${GROUP}" ${TOPIC:+-t "${TOPIC}"} --window "${WINDOW}" --stacks

# 4. When does the backlog end as things are, and what bounds the group?
step "0 69 74 75 76" mqctl group lag -g "${GROUP}" ${TOPIC:+-t "${TOPIC}"} --advise --window "${WINDOW}"

# 5. The group consumes, only too slowly. What is to be done?
echo 'decide: wait: The backlog drains in time by itself: wait, and watch it.'
echo 'decide: scale: More instances, threads or queues: `mqctl playbook run scale-out -p group=GROUP -p topic=TOPIC_BEHIND`'
echo 'decide: by_key: One thread per key instead of per queue, for an orderly group of which the step above says so: key-ordered consumption.'
echo 'decide: skip: Fresh messages matter more than old ones: `mqctl playbook run skip-and-replay -p group=GROUP -p topic=TOPIC_BEHIND`'
