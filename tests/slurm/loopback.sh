#!/usr/bin/env bash
# Slurm on one machine, for tests:  loopback.sh install | start FOLDER CONTROLLER_PORT NODE_PORT | stop FOLDER
# Needs root. Clients find it with SLURM_CONF=FOLDER/slurm.conf.
set -euo pipefail

install() {
    command -v slurmctld slurmd sbatch munged > /dev/null && return
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -q && apt-get install -qy --no-install-recommends slurmctld slurmd slurm-client munge
}

start_munge() {
    munge -n 2> /dev/null | unmunge > /dev/null 2>&1 && return
    mkdir -p /run/munge && chown munge: /run/munge && chmod 755 /run/munge
    runuser -u munge -- "$(command -v munged)"
}

start() {
    local folder=$1
    mkdir -p "$folder/state" "$folder/spool"
    cat > "$folder/slurm.conf" << CONF
ClusterName=loopback
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort=$2
SlurmdPort=$3
SlurmUser=root
SlurmdUser=root
AuthInfo=cred_expire=5
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
MpiDefault=none
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
KillWait=5
SchedulerParameters=sched_interval=2,bf_interval=2,batch_sched_delay=1
NodeName=localhost NodeAddr=127.0.0.1 CPUs=2 RealMemory=2000
PartitionName=main Nodes=localhost Default=YES MaxTime=60 State=UP
CONF
    start_munge
    export SLURM_CONF="$folder/slurm.conf"
    slurmctld -f "$SLURM_CONF"
    slurmd -f "$SLURM_CONF" -N localhost
    for _ in $(seq 600); do
        [ "$(sinfo --noheader --format=%t 2> /dev/null)" = idle ] && return
        sleep 0.1
    done
    echo "the node did not come up" >&2
    tail -n 5 "$folder"/*.log >&2
    return 1
}

stop() {
    SLURM_CONF="$1/slurm.conf" scancel --quiet --user root || true
    for daemon in slurmd slurmctld; do
        [ -f "$1/$daemon.pid" ] && kill "$(cat "$1/$daemon.pid")" || true
    done
}

"$@"
