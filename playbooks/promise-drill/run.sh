#!/usr/bin/env bash
# promise-drill: Drill what a cluster promises
# Generated from playbook.yaml by docs/generate.py; do not edit.
#
# playbooks/promise-drill/run.sh
#   PLAN: what happens: scale-out, broker-restart, failover, room-lost, offset-reset, replay, power-lost, clock-jump, kinds, upgrade, or a file of yours that ends in .yaml
#   HISTORY: where to write the history of every message; else in this directory
#   PAGE: the page with the verdict
# The cluster is the one of MQCTL_NAMESRV or MQCTL_PROFILE. Nothing is changed here: changes are shown as plans.
# `mqctl playbook run promise-drill` does the same with decisions, changes, time limits and a report.
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

PLAN=${PLAN:-scale-out}
HISTORY=${HISTORY:-}
PAGE=${PAGE:-promise-drill.html}

# 1. Are messages lost, repeated, reordered or late while it happens?
step "0 2 3" mqctl drill run "${PLAN}" ${HISTORY:+--history "${HISTORY}"} --html "${PAGE}"
