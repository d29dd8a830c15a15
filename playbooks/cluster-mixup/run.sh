#!/usr/bin/env bash
# cluster-mixup: Two clusters are mixed up
# Generated from playbook.yaml by docs/generate.py; do not edit.
#
# GROUP=... playbooks/cluster-mixup/run.sh
#   GROUP: the consumer group
#   OTHER_NAMESRV: name servers of the other cluster, host:port;host:port
# The cluster is the one of MQCTL_NAMESRV or MQCTL_PROFILE. Nothing is changed here: changes are shown as plans.
# `mqctl playbook run cluster-mixup` does the same with decisions, changes, time limits and a report.
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
OTHER_NAMESRV=${OTHER_NAMESRV:-}

# 1. Do members of the group use different name servers, or do brokers know different members?
step "0 1 2 3" mqctl doctor -g "${GROUP}" --only MQ206 --only MQ210 --only MQ608

# 2. Which instance asks which name servers?
step "0 69 74 75 76" mqctl group members -g "${GROUP}"

# 3. Which clusters and brokers do these name servers know?
step "0 69 74 75 76" mqctl cluster list

# 4. With whom do brokers register (namesrvAddr), and as which cluster?
step "0 69 74 75 76" mqctl broker config --key namesrvAddr --key brokerClusterName --key brokerName

# 5. And the other cluster?
if [ -n "$OTHER_NAMESRV" ]; then
  step "0 3 69 74 75 76" mqctl snapshot save other-cluster.snap --force --namesrv "${OTHER_NAMESRV}"
fi

# 6. Where is it to be mended?
echo 'decide: clients: Instances with the wrong name servers: fix namesrvAddr (code, rocketmq.namesrv.addr, NAMESRV_ADDR) and restart. Clients of two clusters in one process need different instanceName or unitName: equal clientIds share one client, and the first name servers win.'
echo 'decide: brokers: A broker that registers with both: take the other name servers out of its namesrvAddr and restart it; then replay what it got by mistake.'
