#!/bin/sh
# Builds the root of one container and becomes its last stage. Runs as the first process of the container's
# mount namespace (and pid namespace, unless the pod requested that of the node), with the node's rights.
#   $1 plan directory   $2 image skeleton   $3 empty directory for the new root
#   $4 name of the node's root while volumes are bound: random, so that no symlink in a
#      volume can name it   $5 shared|private: shared if the node's mounts are still peers here
#   then the command that enters the user namespace and drops capabilities.
# fd 3: user namespace, if there is one. fd 4: status lines, read by the node. fd 6: the container's stderr;
# stderr itself is the runtime's. stdin: a line from the node to continue.
set -eu
plan=$1 image=$2 root=$3 old=$4 sharing=$5
shift 5

read -r pid _ </proc/self/stat
echo "pid $pid" >&4

IFS= read -r hostname <"$plan/hostname"
# In a user namespace /proc/sys belongs to the machine's root, and only sethostname(2) works.
if ! { echo "$hostname" >/proc/sys/kernel/hostname; } 2>/dev/null; then
  hostname "$hostname"
fi

mount -t tmpfs -o mode=0755 root "$root"
cp -a "$image/." "$plan/files/." "$root/"
mount -a -T "$plan/fstab"
exec 5<"$plan/command"

mkdir "$root/$old"
cd "$root"
pivot_root . "$old"
cd /

# Creates the missing directories of the list in file $1.
make_directories() {
  list=$1
  shift
  while IFS= read -r directory; do
    [ -d "$directory" ] || set -- "$@" "$directory"
  done <"$list"
  [ "$#" -eq 0 ] || mkdir -p -- "$@"
}
for batch in "/$old$plan"/volumes-*; do
  [ -d "$batch" ] || continue
  make_directories "$batch/directories"
  while IFS= read -r file; do
    [ -e "$file" ] || : >"$file"
  done <"$batch/files"
  mount -a -T "$batch/fstab"
done

[ ! -e "/$old$plan/read-only-root" ] || mount -o remount,bind,ro /

# An unmount of a peer would propagate to the node's own mounts.
[ "$sharing" = private ] || mount --make-rprivate "/$old"
umount -l "/$old"
rmdir "/$old" 2>/dev/null || :

echo mounted >&4
read -r _
exec </dev/null
exec "$@"
