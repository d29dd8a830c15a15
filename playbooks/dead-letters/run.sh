#!/usr/bin/env bash
# dead-letters: Failures, retries and dead letters
# Generated from playbook.yaml by docs/generate.py; do not edit.
#
# GROUP=... playbooks/dead-letters/run.sh
#   GROUP: the consumer group
#   SINCE: resend only letters given up at or after this time
#   RATE: most letters a second
#   WINDOW: time between two looks
# The cluster is the one of MQCTL_NAMESRV or MQCTL_PROFILE. Nothing is changed here: changes are shown as plans.
# `mqctl playbook run dead-letters` does the same with decisions, changes, time limits and a report.
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
SINCE=${SINCE:-}
RATE=${RATE:-50}
WINDOW=${WINDOW:-60s}

# 1. How many dead letters are there, how old are they, may they be read?
step "0 69 74 75 76" mqctl dlq list -g "${GROUP}" --limit 1

# 2. Does the listener still fail?
step "0 1 2 3" mqctl doctor -g "${GROUP}" --window "${WINDOW}" --only MQ405 --only MQ406 --only MQ407 --only MQ412 --only MQ413

# 3. What failed and will be delivered again by itself?
step "0 69 74 75 76" mqctl retry list -g "${GROUP}" --limit 20

# 4. Let the dead-letter topic be read (brokers up to 4.9.1 create it with permission W only).
echo 'then, when closed > `0`: mqctl topic update -t %DLQ%GROUP --perm RW'

# 5. What are they, how often did each fail, where did it come from?
step "0 69 74 75 76" mqctl dlq list -g "${GROUP}" ${SINCE:+--since "${SINCE}"} --limit 20

# 6. What becomes of them?
echo 'decide: this_group: Send them to the group'"'"'s retry topic: only GROUP gets them.'
echo 'decide: all_groups: Send them to their first topic: all groups of it get them again.'
echo 'decide: leave: Leave them: they stay for the retention of the broker.'

# 7. Send each letter once, to this group only.
echo 'then, when choice.way == '"'"'this_group'"'"': mqctl dlq resend -g GROUP --to %RETRY%GROUP [--since SINCE] --rate RATE'

# 8. Send each letter once, to its first topic.
echo 'then, when choice.way == '"'"'all_groups'"'"': mqctl dlq resend -g GROUP [--since SINCE] --rate RATE'
