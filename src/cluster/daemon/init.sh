#!/bin/sh
# First process of the cluster's pid namespace. Its death, or that of its child, is the death of every process of
# every pod, and with the last of them all mounts are gone.
#   $1 the cluster's directory   $2 Node   $3 its program that makes the binds of the host's folders   $4 the runtime
#   directory, then the cluster's command.
set -eu
directory=$1 node=$2 prepare=$3 runtime=$4
shift 4
record=$directory/process

# Prints state and start time (proc(5), stat fields 3 and 22) of a process, as the machine's /proc shows it.
describe() {
  IFS= read -r stat <"/proc/$1/stat" || return 1
  set -- ${stat##*) }
  state=$1
  shift 19
  started=$1
}

exec 9>>"$directory/lock"
if ! flock --nonblock 9; then
  echo "another process runs the cluster in $directory"
  exit 75
fi

# The lock is free before the kernel has ended the last process of the earlier life: wait for that one's record.
IFS= read -r boot </proc/sys/kernel/random/boot_id
if [ -f "$record" ]; then
  read -r earlier_pid earlier_start earlier_boot <"$record"
  tries=0
  while [ "$earlier_boot" = "$boot" ] && describe "$earlier_pid" 2>/dev/null &&
    [ "$started" = "$earlier_start" ] && [ "$state" != Z ] && [ "$state" != X ]; do
    tries=$((tries + 1))
    if [ "$tries" -gt 600 ]; then
      echo "process $earlier_pid of the cluster's earlier life does not end; nothing was started"
      exit 75
    fi
    sleep 0.05
  done
fi

describe self
read -r pid _ </proc/self/stat
echo "$pid $started $boot" >"$record.new"
mv "$record.new" "$record"

mount -t proc -o nosuid,nodev,noexec proc /proc

"$node" --disable-warning=ExperimentalWarning "$prepare" "$directory" "$runtime" </dev/null 9>&-

# Leave the machine's root: nothing of it can be reached any more, through whatever process, but what the cluster
# runs from, read-only, and its own directory.
view=$directory/node/view
mount -t tmpfs -o mode=0755 view "$view"
# Else the bind of the cluster's directory would hold the view that holds the bind.
mount --make-unbindable "$view"
cp -a "$directory/node/image/." "$view/"
mount -a -T "$directory/node/view.fstab"
mkdir "$view/.machine"
cd "$view"
pivot_root . .machine
cd /
umount -l /.machine
rmdir /.machine
mount --make-private /

# From here on the cluster is root over itself alone: the ids stay the same, but what was mounted so far is locked,
# and devices, kernel settings and the network of the machine belong to another user namespace.
word=$directory/go
rm -f "$word"
mkfifo -m 0600 "$word"
unshare --user --mount --propagation unchanged -- /bin/sh "${0%/*}/enter.sh" "$word" "$@" </dev/null 9>&- &
child=$!
own=$(readlink /proc/self/ns/user)
while [ "$(readlink "/proc/$child/ns/user")" = "$own" ]; do
  sleep 0.002
done
for map in uid_map gid_map; do
  while read -r first _ count; do
    echo "$first $first $count"
  done <"/proc/self/$map" >"$word.map"
  # The kernel takes a map in one write.
  cat "$word.map" >"/proc/$child/$map"
done
echo go >"$word"
rm -f "$word" "$word.map"
trap 'kill -TERM "$child" 2>/dev/null || :' TERM INT HUP
# wait(1) returns early for a trapped signal.
while :; do
  code=0
  wait "$child" || code=$?
  kill -0 "$child" 2>/dev/null || exit "$code"
done
