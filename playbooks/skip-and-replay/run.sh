#!/usr/bin/env bash
# skip-and-replay: Skip now, replay later
# Generated from playbook.yaml by docs/generate.py; do not edit.
#
# GROUP=... TOPIC=... playbooks/skip-and-replay/run.sh
#   GROUP: the consumer group
#   TOPIC: the topic with the backlog
#   NEW_TOPIC: for the way new_topic: where producers send from now on
#   QUEUES: queues of the new topic on each broker
#   NEW_GROUP: for the way new_group: who consumes what comes from now on
#   REPLAY_PLAN: for the way reset: where the stretch that is skipped is written down
# The cluster is the one of MQCTL_NAMESRV or MQCTL_PROFILE. Nothing is changed here: changes are shown as plans.
# `mqctl playbook run skip-and-replay` does the same with decisions, changes, time limits and a report.
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
: "${TOPIC:?the topic with the backlog}"
NEW_TOPIC=${NEW_TOPIC:-}
QUEUES=${QUEUES:-8}
NEW_GROUP=${NEW_GROUP:-}
REPLAY_PLAN=${REPLAY_PLAN:-backlog.json}

# 1. How much would be skipped, and how old is it?
step "0 69 74 75 76" mqctl group lag -g "${GROUP}" -t "${TOPIC}"

# 2. Who else consumes this topic? A replay into the topic itself reaches all of them.
step "0 69 74 75 76" mqctl topic describe -t "${TOPIC}"

# 3. Which of the three ways? All three need idempotent consumers.
echo 'decide: reset: Skip the backlog with the group itself and write the stretch down. Fast, no release. Loses - skipped messages stay unconsumed until you replay them, within the retention.'
echo 'decide: new_group: A new group from the last offset takes what comes; the old one drains its backlog. Loses nothing, but the old group must stop where the new one began, else everything after that is done twice.'
echo 'decide: new_topic: Producers send to a new topic, consumers subscribe it too; the old topic drains. Loses no message, but the order between old and new; needs a release of producers and of every group of the topic.'

# 4. Move the group to the end, and write down what is skipped.
echo 'then, when choice.way == '"'"'reset'"'"': mqctl offset skip -g GROUP -t TOPIC --replay-plan REPLAY_PLAN'

# 5. Give the new group the end of every queue, before its consumers start.
echo 'then, when choice.way == '"'"'new_group'"'"' && new_group: mqctl offset reset -g NEW_GROUP -t TOPIC --to-latest'

# 6. Create the new topic on every broker.
echo 'then, when choice.way == '"'"'new_topic'"'"' && new_topic: mqctl topic create -t NEW_TOPIC --queues QUEUES'

# 7. Is the group at the end now?
echo 'then, when done.skip: mqctl group lag -g GROUP -t TOPIC'
