#!/bin/sh
# The first process of namespaces of its own (ruby-command.ts): runs a command that is not trusted with this machine.
# The command sees the system's programs and the paths given, read-only, and has one folder to write in, /tmp, in memory.
# There is no /proc, no network, no process but its own. This shell stays above the command: it keeps its capabilities, so
# the command cannot trace it, and when it is killed the kernel ends all others.
#   $1: 'user', or the number of the user to become where root started it   then options of prlimit, '--', paths, '--', the command
set -eu
user=$1
shift
limits=
while [ "$1" != -- ]; do
  limits="$limits $1"
  shift
done
shift

# a number of its own, since the limit of processes counts all of a user; a container may not map it
read -r _ _ mapped </proc/self/uid_map
[ "$user" = user ] || [ "$mapped" -gt "$user" ] || user=65534

# Nothing that is shown lies there, and it is everywhere.
root=/sys
mount -t tmpfs -o nosuid,nodev,mode=0755,size=1m confined "$root"
mkdir "$root/tmp" "$root/old" "$root/proc" "$root/dev" "$root/etc"
mount -t tmpfs -o nosuid,nodev,mode=1777,size=64m,nr_inodes=4096 confined "$root/tmp"

show() {
  # shown with a folder above; to make a file here would truncate the machine's
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
  # spaces in it are written \040
  point=$(printf '%b' "$point")
  # what does not exist lies on the covered /sys
  [ "$point" != "$root/tmp" ] && [ -e "$point" ] || continue
  case ,$options, in
    *,ro,*) ;;
    *) mount -o "remount,bind,$options,ro" none "$point" ;;
  esac
done </proc/self/mountinfo

# More namespaces would give the command capabilities over them. Of the machine's root it is the machine's setting.
[ "$user" != user ] || echo 0 >/proc/sys/user/max_user_namespaces

# umount(8) finds its mounts in /proc
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
