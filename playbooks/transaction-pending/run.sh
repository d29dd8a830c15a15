#!/usr/bin/env bash
# transaction-pending: Transactions are pending, or were given up
# Generated from playbook.yaml by docs/generate.py; do not edit.
#
# playbooks/transaction-pending/run.sh
#   GROUP: the producer group
#   STORE: a store directory instead of a live cluster
# The cluster is the one of MQCTL_NAMESRV or MQCTL_PROFILE. Nothing is changed here: changes are shown as plans.
# `mqctl playbook run transaction-pending` does the same with decisions, changes, time limits and a report.
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

GROUP=${GROUP:-}
STORE=${STORE:-}

# 1. What is pending, what was given up, whom can brokers not ask?
step "0 1 2 3" mqctl transaction list --check ${STORE:+--store "${STORE}"}

# 2. Which ones, of which producer group, how old, checked how often?
step "0 69 74 75 76" mqctl transaction list ${GROUP:+-g "${GROUP}"} ${STORE:+--store "${STORE}"}

# 3. Is a producer of the group online to be asked?
if [ -z "$STORE" ]; then
  step "0 69 74 75 76" mqctl producer list ${GROUP:+-g "${GROUP}"}
fi

# 4. Which cluster is it?
echo 'then, when !store && discarded > `0`: mqctl cluster list'

# 5. Have those that were given up checked again; a producer must be online first.
echo 'then, when !store && discarded > `0` && online > `0`: mqctl transaction resume [-g GROUP]'

# 6. What is left?
step "0 1 2 3" mqctl transaction list --check ${STORE:+--store "${STORE}"}
