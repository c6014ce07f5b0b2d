#!/bin/sh
# First process of the cluster's pid namespace. If it or its child dies, every process of every pod dies, and
# all mounts disappear with the last process.
#   $1 the cluster's directory   $2 Node   $3 the program that prepares the binds of the host's folders
#   $4 the runtime directory, then the cluster's command.
set -eu
directory=$1 node=$2 prepare=$3 runtime=$4
shift 4
# If the caller's umask is 077, the users of a VM cannot enter its root directory without this.
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

# The lock is released before the kernel has ended the last process of the previous run, so wait for the
# recorded process.
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

# It is outside of the root that the cluster gets.
enter=$(cat "${0%/*}/enter.sh")

describe self
read -r pid _ </proc/self/stat
echo "$pid $started $boot" >"$record.new"
mv "$record.new" "$record"

mount -t proc -o nosuid,nodev,noexec proc /proc

"$node" --disable-warning=ExperimentalWarning "$prepare" "$directory" "$runtime" </dev/null 9>&-

# Leave the machine's root. Afterwards no process can reach anything of it except the read-only programs of
# the cluster and the cluster's own directory.
view=$directory/node/view
mount -t tmpfs -o mode=0755 view "$view"
# It must be unbindable; otherwise the bind of the cluster's directory would contain the root that contains it
# (a mount cycle).
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

# From here on the cluster is root only over itself. The ids stay the same, but existing mounts are locked,
# and devices, kernel settings and the network of the machine belong to another user namespace. Until its ids
# are mapped, the child may open only world-readable files, and the checkout may belong to another user. So it
# gets its script as text, and the line to continue from a pipe that is already open.
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
