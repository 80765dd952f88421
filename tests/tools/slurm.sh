#!/usr/bin/env bash
# A Slurm of a few nodes on this host, for tests: all of it in one directory, on loopback, as root.
#
#   slurm.sh up DIR PORT [NODES]     prints the path of slurm.conf; PORT and the 19 after it must be free
#   slurm.sh down DIR                ends all that `up` started
#   slurm.sh start DIR NAME          starts a daemon of it (slurmctld, n1, …) again
#   slurm.sh kill DIR NAME           kills one with SIGKILL
#
# With ACCOUNTING=1 it has a slurmdbd on a MariaDB of its own, and forgets jobs that ended after two seconds.
# Needs the Debian packages slurm-wlm and munge; for accounting slurmdbd, slurm-wlm-mysql-plugin and mariadb-server.
set -euo pipefail
action=$1 dir=$2
host=$(hostname -s)
cpus=4 gpus=2

# start NAME COMMAND…: in the background, in a session of its own, its number written down.
start() {
    local name=$1
    shift
    setsid "$@" >>"$dir/log/$name.out" 2>&1 </dev/null &
    echo "$!" >"$dir/pids/$name"
}

daemon() {
    export SLURM_CONF=$dir/etc/slurm.conf
    case $1 in
        munged) start munged munged --foreground --force --socket="$dir/run/munge.sock" --key-file="$dir/munge/key" \
            --pid-file="$dir/munge/pid" --log-file="$dir/log/munged.log" --seed-file="$dir/munge/seed" --num-threads=2 ;;
        mariadb) start mariadb mariadbd --no-defaults --user=root --datadir="$dir/db" --socket="$dir/run/db.sock" \
            --bind-address=127.0.0.1 --port="$(<"$dir/db-port")" --innodb-buffer-pool-size=64M \
            --innodb-flush-log-at-trx-commit=0 --skip-name-resolve ;;
        slurmdbd) start slurmdbd slurmdbd -D ;;
        slurmctld) start slurmctld slurmctld -D -f "$SLURM_CONF" ;;
        n*) start "$1" slurmd -D -N "$1" -f "$SLURM_CONF" ;;
    esac
}

# running NAME: it was started here and runs; another process may have got its number.
running() {
    [ -e "$dir/pids/$1" ] && grep -qzF "$dir" "/proc/$(<"$dir/pids/$1")/environ" 2>/dev/null
}

# await NAME SECONDS COMMAND…: until the command succeeds, as long as the daemon runs.
await() {
    local name=$1 end=$((SECONDS + $2))
    shift 2
    until "$@" >/dev/null 2>&1; do
        if [ "$SECONDS" -ge "$end" ] || ! running "$name"; then
            echo "slurm.sh: $name does not come up" >&2
            tail -n 20 "$dir"/log/* >&2
            return 1
        fi
        sleep 0.05
    done
}

configure() {
    local port=$1 nodes=$2 accounting=AccountingStorageType=accounting_storage/none age=300
    mkdir -p "$dir"/{etc,log,state,spool,run,dev,pids}
    mkdir -m 700 "$dir/munge"
    head -c 128 /dev/urandom >"$dir/munge/key"
    chmod 400 "$dir/munge/key"
    # Slurm takes only character devices with a number at the end for GPUs: copies of /dev/null do.
    for ((g = 0; g < gpus; g++)); do mknod "$dir/dev/gpu$g" c 1 3; done
    if [ -n "${ACCOUNTING:-}" ]; then
        age=2
        echo "$((port + 2))" >"$dir/db-port"
        accounting="AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=$((port + 1))
AccountingStoragePass=$dir/run/munge.sock
AccountingStorageTRES=gres/gpu"
        (umask 077 && cat >"$dir/etc/slurmdbd.conf") <<CONF
AuthType=auth/munge
AuthInfo=socket=$dir/run/munge.sock
DbdHost=$host
DbdAddr=127.0.0.1
DbdPort=$((port + 1))
SlurmUser=root
LogFile=$dir/log/slurmdbd.log
PidFile=$dir/run/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=$((port + 2))
StorageUser=slurm
StoragePass=slurm
StorageLoc=slurm_acct
CommunicationParameters=NoInAddrAny
CONF
    fi
    cat >"$dir/etc/slurm.conf" <<CONF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$dir/run/munge.sock
CredType=cred/munge
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool/%n
SlurmctldPidFile=$dir/run/slurmctld.pid
SlurmdPidFile=$dir/run/%n.pid
SlurmctldLogFile=$dir/log/slurmctld.log
SlurmdLogFile=$dir/log/%n.log
# One host plays all nodes: no control groups, no real counts of cores.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SlurmdParameters=config_overrides
SwitchType=switch/none
MpiDefault=none
MailProg=/bin/true
ReturnToService=2
# Quick instead of thrifty.
SchedulerType=sched/backfill
SchedulerParameters=sched_min_interval=100000,sched_interval=1,bf_interval=1,batch_sched_delay=0
InactiveLimit=0
KillWait=2
MinJobAge=$age
CompleteWait=0
SlurmctldTimeout=10
SlurmdTimeout=10
TCPTimeout=2
MessageTimeout=5
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=500
GresTypes=gpu
JobAcctGatherType=jobacct_gather/none
$accounting
NodeName=n[1-$nodes] NodeHostname=$host NodeAddr=127.0.0.1 Port=[$((port + 11))-$((port + 10 + nodes))] CPUs=$cpus Sockets=1 CoresPerSocket=$cpus ThreadsPerCore=1 RealMemory=8000 Gres=gpu:fake:$gpus State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES DefaultTime=5 MaxTime=60 State=UP
CONF
    echo "NodeName=n[1-$nodes] Name=gpu Type=fake File=$dir/dev/gpu[0-$((gpus - 1))]" >"$dir/etc/gres.conf"
    printf 'CgroupPlugin=cgroup/v1\nCgroupMountpoint=/sys/fs/cgroup\n' >"$dir/etc/cgroup.conf"
}

accounting() {
    mariadb-install-db --no-defaults --user=root --datadir="$dir/db" --auth-root-authentication-method=normal \
        --skip-test-db >"$dir/log/db-install.out" 2>&1
    daemon mariadb
    sql() { mariadb --no-defaults -S "$dir/run/db.sock" -u root -e "$1"; }
    await mariadb 60 sql 'select 1'
    sql "create user slurm@'127.0.0.1' identified by 'slurm'; grant all on slurm_acct.* to slurm@'127.0.0.1'"
    daemon slurmdbd
    await slurmdbd 60 sacctmgr -n show cluster
    sacctmgr -i -Q add cluster test >/dev/null 2>&1 || true
}

up() {
    local port=$1 nodes=${2:-4}
    configure "$port" "$nodes"
    export SLURM_CONF=$dir/etc/slurm.conf
    daemon munged
    await munged 10 munge -n -S "$dir/run/munge.sock"
    [ -z "${ACCOUNTING:-}" ] || accounting
    daemon slurmctld
    await slurmctld 20 scontrol ping
    for ((n = 1; n <= nodes; n++)); do
        mkdir -p "$dir/spool/n$n"
        daemon "n$n"
    done
    idle() { [ "$(sinfo -h -p main -t idle -o %D)" = "$nodes" ]; }
    await slurmctld 30 idle
    echo "$SLURM_CONF"
}

down() {
    export SLURM_CONF=$dir/etc/slurm.conf
    # What runs ends first, so that nobody is left behind.
    ! running slurmctld || timeout 5 scancel --full --user="$(id -un)" 2>/dev/null || true
    for ((i = 0; i < 50; i++)); do
        [ -n "$(timeout 5 squeue -h -t R,CG -o %i 2>/dev/null)" ] || break
        sleep 0.1
    done
    local name
    for name in $(ls -t "$dir/pids"); do
        ! running "$name" || kill -TERM "$(<"$dir/pids/$name")" 2>/dev/null || true
    done
    for ((i = 0; i < 50; i++)); do
        local left=
        for name in $(ls "$dir/pids"); do ! running "$name" || left=1; done
        [ -n "$left" ] || break
        sleep 0.1
    done
    # What is left of a daemon that was killed: steps of jobs, and what these run. All of them know our directory.
    local environ
    for environ in $(grep -lzF "$dir/etc/slurm.conf" /proc/[0-9]*/environ 2>/dev/null); do
        environ=${environ#/proc/}
        [ "${environ%/environ}" = "$$" ] || kill -KILL "${environ%/environ}" 2>/dev/null || true
    done
}

case $action in
    up)
        trap 'code=$?; [ "$code" = 0 ] || down; exit "$code"' EXIT
        up "${@:3}"
        ;;
    down) down ;;
    start)
        daemon "$3"
        [ "$3" != slurmctld ] || SLURM_CONF=$dir/etc/slurm.conf await slurmctld 20 scontrol ping
        ;;
    kill) ! running "$3" || kill -KILL "$(<"$dir/pids/$3")" ;;
    *)
        echo "slurm.sh: unknown action $action" >&2
        exit 2
        ;;
esac
