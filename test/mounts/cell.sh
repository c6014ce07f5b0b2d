#!/bin/sh
# The agent of a VM that, instead of the jobs of a Diego cell, does what Garden does there on cgroup v2. grootfs
# keeps the file systems of apps in a store, which is an XFS file system in a sparse file, and limits them by
# project quotas. Apps are started by containerd (one) or runc alone (two), as Garden can do both. At a restart of
# the VM the store is mounted again.
set -eu
PATH=/usr/sbin:/usr/bin:/sbin:/bin
store=/var/vcap/data/grootfs/store/unprivileged
groups=/sys/fs/cgroup
user=4294967294 # root of the apps
apps='one two'

make_store() {
  mkdir -p "$store"
  (umask 077 && : > "$store.backing-store")
  truncate -s 320M "$store.backing-store"
  mkfs.xfs -f "$store.backing-store" > /dev/null
}
mount_store() {
  mount -t xfs -o loop,pquota,noatime "$store.backing-store" "$store"
  echo "store with" $(grep " $store " /proc/mounts | grep -ow -e xfs -e noatime -e prjquota)
  echo "loop devices: $(losetup --noheadings --list | wc -l)"
}
fill_store() {
  layer=$store/volumes/layer
  chmod 700 "$store"
  (cd "$store" && mkdir -p images volumes meta/dependencies locks tmp l projectids)
  mknod "$store/whiteout_dev" c 0 0
  mkdir -p "$layer/bin" "$layer/dev" "$layer/proc" "$layer/sys"
  cp /bin/busybox "$layer/bin/sh"
  for name in cat dd sleep; do ln -s sh "$layer/bin/$name"; done
  ln -s "$layer" "$store/l/short"
  chown -Rh "$user:$user" "$store"
}
# $1 with project $2, which may use $3 MiB. Folders get the project of the folder above them.
make_image() {
  image=$store/images/$1
  mkdir "$store/projectids/$2" "$image"
  xfs_io -c "chproj $2" -c 'chattr +P' "$image"
  xfs_quota -x -c "limit -p bsoft=$3m bhard=$3m $2" "$store"
  install -d -o "$user" -g "$user" "$image/diff" "$image/workdir" "$image/rootfs"
}
show_images() {
  for app in $apps; do
    id=$(xfs_io -r -c lsproj "$store/images/$app" | tr -dc 0-9)
    usage=$(xfs_quota -c "quota -pNbv $id" "$store" | awk '{ printf "%.0f of %.0f", $2 / 1024, $4 / 1024 }')
    echo "$app: project $id, $usage MiB"
  done
}

start_containerd() {
  root=/var/vcap/data/containerd/root
  printf 'version = 2\nroot = "%s"\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n' "$root" > /run/containerd.toml
  containerd --config /run/containerd.toml > /run/containerd.log 2>&1 &
  timeout 60 sh -c 'until ctr version > /dev/null 2>&1; do sleep 0.1; done' || { cat /run/containerd.log; exit 1; }
  ctr containers delete one 2> /dev/null || :
  # When containerd ends, it may report that the stream was closed.
  ctr events > /run/events 2> /dev/null &
  until [ -s /run/events ]; do ctr namespaces label default "time=$(date +%N)"; done
}
# the controllers for the cgroups below $1
allow() { sed 's/[^ ]*/+&/g' "$1/cgroup.controllers" > "$1/cgroup.subtree_control"; }
# With containerd, Garden gives the limits of an app to a cgroup above that of the app's first process.
make_groups() {
  mkdir "$groups/garden"
  allow "$groups"
  mkdir "$groups/garden/one"
  allow "$groups/garden"
  echo 33554432 > "$groups/garden/one/memory.max"
  echo 40 > "$groups/garden/one/cpu.weight"
}
mount_image() {
  image=$store/images/$1
  cd "$store"
  mount -t overlay -o "lowerdir=l/short,upperdir=$image/diff,workdir=$image/workdir" overlay "$image/rootfs"
  cd /
}
start_apps() {
  ctr run --detach --config /var/vcap/one.json --pid-file /run/one.pid one
  mkdir /run/two
  cp /var/vcap/two.json /run/two/config.json
  runc run --detach --bundle /run/two --pid-file /run/two.pid two < /dev/null > /run/two.log 2>&1 || cat /run/two.log
}
# $1 with the network $2
connect() {
  pid=$(cat "/run/$1.pid")
  ip link add "$1-vm" type veth peer name "$1-app" netns "$pid"
  ip address add "$2.1/30" dev "$1-vm"
  ip link set "$1-vm" up
  nsenter --net --target "$pid" sh -c "ip address add $2.2/30 dev $1-app && ip link set $1-app up"
  busybox ping -c 1 -W 5 "$2.2" > /dev/null && echo "$1: answers ping"
}
# $1 is an app, $2 a command of its shell. runc starts it, because ctr sometimes loses the output of a short command.
in_app() {
  root=/run/runc
  [ "$1" = two ] || root=/run/containerd/runc/default
  runc --root "$root" exec "$1" sh -c "$2" > /run/log 2>&1 && code=0 || code=$?
  sed "s/^/$1: /" /run/log
  [ "$code" -eq 0 ] || echo "$1: exits with $code"
}
show_groups() {
  for app in $apps; do
    group=$groups/garden/$app
    pid=$(cat "/run/$app.pid")
    echo "$app: in $(sed s/^0::// "/proc/$pid/cgroup"), memory $(cat "$group/memory.max"), weight" \
      "$(cat "$group/cpu.weight"), $(grep -w oom_kill "$group/memory.events"), $(kill -0 "$pid" && echo running)"
  done
}
zeros() { echo "dd status=none if=/dev/zero of=$1 bs=1M count=$2"; }
trap 'kill -TERM 1' EXIT
mkdir -p /run
[ -e /dev/loop-control ] || mknod /dev/loop-control c 10 237
[ -e "$store.backing-store" ] && made= || made=yes
[ -z "$made" ] || make_store
mount_store
if [ -n "$made" ]; then
  fill_store
  make_image one 2 8
  make_image two 3 16
fi
show_images
start_containerd
make_groups
for app in $apps; do mount_image "$app"; done
start_apps
connect one 10.254.0
connect two 10.254.1
in_app one "cat /name; echo kept > /name; $(zeros /file 12)"
if [ -n "$made" ]; then
  in_app two "$(zeros /file 12)"
  $(zeros "$store/tmp/file" 20)
  show_images
  in_app one "$(zeros /dev/null 1 | sed s/1M/64M/)"
  # Garden tells the developer by this event why the app ended
  timeout 30 sh -c 'until grep -o -m 1 /tasks/oom /run/events; do sleep 0.1; done' || echo 'no event of containerd'
  in_app two 'for i in 1 2 3 4 5 6 7 8 9 10; do sleep 3600 > /dev/null 2>&1 & done'
  in_app one 'cat /proc/self/cgroup /sys/fs/cgroup/memory.max'
  show_groups
  # an overlay is read-only if its project is full when it is mounted
  in_app one "$(zeros /file 4)"
fi
