#!/bin/sh
# First process of the cluster's pid namespace. Its death, or that of its child, is the death of every process of
# every pod, and with the last of them all mounts are gone.
#   $1 the cluster's directory   $2 Node   $3 its program that makes the binds of the host's folders   $4 the runtime
#   directory, then the cluster's command.
set -eu
directory=$1 node=$2 prepare=$3 runtime=$4
shift 4
# not that of the shell that started it: with 077 the users of a VM could not enter its root
umask 022
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
# Until its ids are mapped the child may open only what everybody may, and the checkout may be another user's: it gets its
# script as text, and the word to go on from a pipe that is open already.
enter=$(cat "${0%/*}/enter.sh")
mkfifo -m 0600 /go
exec 8<>/go
rm /go
unshare --user --mount --propagation unchanged -- /bin/sh -c "$enter" enter "$@" <&8 8>&- 9>&- &
child=$!

lost() {
  echo "the cluster ended before it had a user namespace; what it said is above"
  exit 1
}
own=$(readlink /proc/self/ns/user)
while theirs=$(readlink "/proc/$child/ns/user") || lost && [ "$theirs" = "$own" ]; do
  sleep 0.002
done
for map in uid_map gid_map; do
  while read -r first _ count; do
    echo "$first $first $count"
  done <"/proc/self/$map" >/map
  # The kernel takes a map in one write.
  { [ -e "/proc/$child/$map" ] && cat /map >"/proc/$child/$map"; } || lost
done
rm /map
echo go >&8
exec 8>&-
trap 'kill -TERM "$child" 2>/dev/null || :' TERM INT HUP
# wait(1) returns early for a trapped signal.
while :; do
  code=0
  wait "$child" || code=$?
  kill -0 "$child" 2>/dev/null || exit "$code"
done
