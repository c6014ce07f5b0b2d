#!/bin/sh
# The first process of its own namespaces (ruby-command.ts): runs a command that is not trusted with this
# machine. The command sees the system's programs and the given paths, read-only, and can write only in /tmp,
# which is in memory. It has no /proc, no network, and sees only its own processes. This shell stays the
# parent of the command: it keeps its capabilities, so the command cannot trace it, and if it is killed the
# kernel ends all others.
#   $1: 'user', or the number of the user to become if root started it
#   then options of prlimit, '--', paths, '--', the command
set -eu
user=$1
shift
limits=
while [ "$1" != -- ]; do
  limits="$limits $1"
  shift
done
shift

# A separate user id, because the limit of processes counts all processes of a user. A container may not map
# the id.
read -r _ _ mapped </proc/self/uid_map
[ "$user" = user ] || [ "$mapped" -gt "$user" ] || user=65534

# /sys exists everywhere, and no path that is shown is below it.
root=/sys
mount -t tmpfs -o nosuid,nodev,mode=0755,size=1m confined "$root"
mkdir "$root/tmp" "$root/old" "$root/proc" "$root/dev" "$root/etc"
mount -t tmpfs -o nosuid,nodev,mode=1777,size=64m,nr_inodes=4096 confined "$root/tmp"

show() {
  # A folder above is already bound. Creating a file here would truncate the machine's file.
  [ ! -e "$root$1" ] || return 0
  if [ -d "$1" ]; then
    mkdir -p "$root$1"
  else
    [ -d "$root${1%/*}" ] || mkdir -p "$root${1%/*}"
    : >"$root$1"
  fi
  mount --rbind "$1" "$root$1"
}
links=
for folder in /usr /bin /sbin /lib /lib32 /lib64; do
  if [ -L "$folder" ]; then
    links="$links $folder"
  elif [ -d "$folder" ]; then
    show "$folder"
  fi
done
# shellcheck disable=SC2086
[ -z "$links" ] || cp -P $links "$root/"
[ ! -f /etc/ld.so.cache ] || cp /etc/ld.so.cache "$root/etc/"
show /dev/null
show /dev/urandom
while [ "$1" != -- ]; do
  show "$1"
  shift
done
shift

while read -r _ _ _ _ point options _; do
  case $point in
    "$root" | "$root"/*) ;;
    *) continue ;;
  esac
  # Mountinfo writes a space as \040.
  point=$(printf '%b' "$point")
  # A path that does not exist belongs to the covered /sys.
  [ "$point" != "$root/tmp" ] && [ -e "$point" ] || continue
  case ,$options, in
    *,ro,*) ;;
    *) mount -o "remount,bind,$options,ro" none "$point" ;;
  esac
done </proc/self/mountinfo

# Further namespaces would give the command capabilities over them. As the machine's root, this would change
# the machine's setting.
[ "$user" != user ] || echo 0 >/proc/sys/user/max_user_namespaces

# umount(8) reads its mounts from /proc.
mount --rbind /proc "$root/proc"
cd "$root"
pivot_root . old
cd /tmp
umount -l /old
umount -l /proc

other=
[ "$user" = user ] || other="--reuid=$user --regid=$user --clear-groups"
# shellcheck disable=SC2086
prlimit $limits -- setpriv $other --no-new-privs --inh-caps=-all --ambient-caps=-all --bounding-set=-all -- "$@"
exit "$?"
