#!/usr/bin/env bash
# hot-key: A hot sharding key, or an order that is broken
# Generated from playbook.yaml by docs/generate.py; do not edit.
#
# TOPIC=... playbooks/hot-key/run.sh
#   TOPIC: the topic
#   GROUP: the group that consumes it
#   KEY: the property that holds the key; else the sharding key or KEYS
#   QUEUES: what if each broker had so many queues
#   ORDER: order configuration to set, broker-a:4;broker-b:4
#   WINDOW: time between two looks at the queues
# The cluster is the one of MQCTL_NAMESRV or MQCTL_PROFILE. Nothing is changed here: changes are shown as plans.
# `mqctl playbook run hot-key` does the same with decisions, changes, time limits and a report.
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
KEY=${KEY:-}
QUEUES=${QUEUES:-8}
ORDER=${ORDER:-}
WINDOW=${WINDOW:-2s}

# 1. How are messages spread over the queues?
step "0 69 74 75 76" mqctl topic describe -t "${TOPIC}"

# 2. Which keys are hot, does each lie in one queue only, and what would more queues move?
step "0 1 3" mqctl order check -t "${TOPIC}" ${KEY:+--key "${KEY}"} --queues "${QUEUES}"

# 3. Which brokers and queues does the topic have, and is its order configured?
step "0 69 74 75 76" mqctl topic route -t "${TOPIC}"

# 4. Does the group keep up, and does it consume in order?
if [ -n "$GROUP" ]; then
  step "0 1 2 3" mqctl doctor -g "${GROUP}" -t "${TOPIC}" --window "${WINDOW}" --only MQ301 --only MQ401 --only MQ505 --only MQ506 --only MQ507
fi

# 5. What would one thread per key instead of per queue pass, by the keys that wait?
if [ -n "$GROUP" ]; then
  step "0 66 69 74 75 76" mqctl group lag -g "${GROUP}" -t "${TOPIC}" --advise --window "${WINDOW}"
fi

# 6. What is to be done?
echo 'decide: split: Split the hot key in the producer (key plus a sub-key such as the order id) where only a finer order is needed. More queues do not split a key.'
echo 'decide: by_key: One thread per key instead of per queue, where the step above says that it is faster: key-ordered consumption.'
echo 'decide: faster: Make one call faster: an orderly queue passes one batch at a time; raise consumeMessageBatchMaxSize, shorten the listener.'
echo 'decide: fix_order: Fix the queues of the topic in the name servers'"'"' order configuration (-p order).'

# 7. Set the order configuration in every name server.
echo 'then, when choice.way == '"'"'fix_order'"'"' && order: mqctl topic update -t TOPIC --order ORDER'
