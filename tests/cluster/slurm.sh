#!/usr/bin/env bash
# Slurm on this machine: slurm.sh start FOLDER, slurm.sh stop FOLDER. Two nodes of one core each.
# Needs root and Debian's packages: apt-get install slurmctld slurmd slurm-client munge
set -e
folder=$(realpath -m "$2")
export SLURM_CONF=$folder/slurm.conf

start() {
  mkdir -p "$folder" /run/munge
  chown munge /run/munge
  [ -S /run/munge/munge.socket.2 ] || su munge -s /bin/bash -c /usr/sbin/munged
  cat >"$folder/cgroup.conf" <<<"CgroupPlugin=cgroup/v1"
  cat >"$SLURM_CONF" <<END
ClusterName=test
SlurmctldHost=localhost
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobRequeue=1
KillWait=20
ReturnToService=2
SlurmctldPort=26817
SlurmctldPidFile=$folder/slurmctld.pid
SlurmctldLogFile=$folder/slurmctld.log
StateSaveLocation=$folder/state
SlurmdPidFile=$folder/slurmd.%n.pid
SlurmdLogFile=$folder/slurmd.%n.log
SlurmdSpoolDir=$folder/spool.%n
NodeName=n1 NodeHostname=localhost NodeAddr=127.0.0.1 Port=26821 CPUs=1 RealMemory=2000
NodeName=n2 NodeHostname=localhost NodeAddr=127.0.0.1 Port=26822 CPUs=1 RealMemory=2000
PartitionName=all Nodes=n1,n2 Default=YES State=UP
END
  mkdir -p "$folder/state" "$folder/spool.n1" "$folder/spool.n2"
  slurmctld
  slurmd -N n1
  slurmd -N n2
  until [ "$(sinfo -h -t idle -o %D)" = 2 ]; do sleep 1; done
}

stop() {
  for pid in "$folder"/*.pid; do kill "$(cat "$pid")" || true; done
}

"$1"
