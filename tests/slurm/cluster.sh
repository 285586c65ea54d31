#!/usr/bin/env bash
# A Slurm cluster of two nodes on this machine, in a folder of its own: cluster.sh start|stop FOLDER. Needs root and the Debian
# packages slurm-wlm and munge; uses ports 7000 to 7002. `export SLURM_CONF=FOLDER/slurm.conf` talks to it.
set -euo pipefail
command=$1
folder=$(mkdir -p "$2" && cd "$2" && pwd)
export SLURM_CONF=$folder/slurm.conf
PATH=$PATH:/usr/sbin:/sbin

# Ends a daemon by the process id it left, and waits for it.
end() {
    [ -s "$1" ] || return 0
    local id
    id=$(cat "$1")
    kill "$id" 2>/dev/null || return 0
    for _ in $(seq 50); do kill -0 "$id" 2>/dev/null || return 0; sleep 0.1; done
    kill -9 "$id" 2>/dev/null || true
}

stop() {
    scancel --user="$(id -un)" 2>/dev/null || true
    for daemon in n1 n2 slurmctld munged; do end "$folder/$daemon.pid"; done
}

start() {
    local host
    host=$(hostname -s)
    chmod 755 "$folder"
    # A key and a socket of its own: a munge daemon of this machine is left alone.
    head -c 1024 /dev/urandom > "$folder/munge.key"
    mkdir -p "$folder/munge" "$folder/state"
    chown munge "$folder/munge.key" "$folder/munge"
    chmod 600 "$folder/munge.key"
    chmod 755 "$folder/munge"
    chown slurm "$folder/state"
    runuser -u munge -- munged --force --key-file="$folder/munge.key" --socket="$folder/munge/socket" \
        --pid-file="$folder/munge/munged.pid" --log-file="$folder/munge/munged.log" --seed-file="$folder/munge/seed"
    ln -sf munge/munged.pid "$folder/munged.pid"
    cat > "$folder/slurm.conf" <<CONF
ClusterName=two
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=7000
SlurmUser=slurm
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket,cred_expire=5
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
SlurmdTimeout=10
KillWait=5
SchedulerParameters=sched_interval=2,sched_min_interval=100000
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool-%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/%n.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/%n.log
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=7001 CPUs=1
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=7002 CPUs=1
PartitionName=main Nodes=n1,n2 Default=YES State=UP
CONF
    touch "$folder/slurmctld.pid" "$folder/slurmctld.log"
    chown slurm "$folder/slurmctld.pid" "$folder/slurmctld.log"
    mkdir -p "$folder/spool-n1" "$folder/spool-n2"
    slurmctld
    slurmd -N n1
    slurmd -N n2
    for _ in $(seq 100); do
        [ "$(sinfo -h -o %T -N 2>/dev/null | grep -c '^idle$')" = 2 ] && return 0
        sleep 0.2
    done
    echo "the nodes are not idle" >&2
    sinfo -N >&2 || true
    return 1
}

case $command in
    start) stop; start ;;
    stop) stop ;;
    *) echo "cluster.sh start|stop FOLDER" >&2; exit 2 ;;
esac
