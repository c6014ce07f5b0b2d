#!/bin/sh
# Makes a machine of the test cluster a node. The persistent folders of a node are bound from the cluster's
# state to their standard paths, above overlays that write nothing to the host's disk.
#   $1 the node's folder, $2 the folder of assigned addresses, $3 the root of its control groups,
#   $4 its address/prefix, $5 the gateway
set -eu

# Mount points that the host does not have are made in overlays.
mkdir -p /run/overlay /run/state /run/addresses
mount --bind "$1" /run/state
mount --bind "$2" /run/addresses
for each in /etc /opt /var; do
  mkdir -p "/run/overlay$each/upper" "/run/overlay$each/work"
  mount -t overlay -o "lowerdir=$each,upperdir=/run/overlay$each/upper,workdir=/run/overlay$each/work" overlay "$each"
done

# There is no name server, so that each look-up fails at once, and not after half a minute for an image that
# does not exist.
rm -f /etc/resolv.conf
echo 'nameserver 127.0.0.1' >/etc/resolv.conf

# A bind in the peer group of its source would show each later mount twice.
keep() {
  mkdir -p "$1" "$2"
  mount --bind "$1" "$2"
  mount --make-private "$2"
  mount --make-shared "$2"
}
keep /run/state/kubelet /var/lib/kubelet
keep /run/state/containerd /var/lib/containerd
keep /run/state/log /var/log
keep /run/state/cni/net.d /etc/cni/net.d
keep /run/state/cni/bin /opt/cni/bin
keep /run/state/cni/cache /var/lib/cni
keep /run/addresses /var/lib/cni/networks

# The kubelet sets these for the whole kernel unless they already have these values.
tunable() {
  mkdir -p "/run/tunables/${1%/*}"
  echo "$2" >"/run/tunables/$1"
  mount --bind "/run/tunables/$1" "/proc/sys/$1"
}
tunable vm/overcommit_memory 1
tunable vm/panic_on_oom 0
tunable kernel/panic 10
tunable kernel/panic_on_oops 1

while read -r _ directory type _; do
  case $type in
    cgroup | cgroup2)
      mkdir -p "$directory/$3"
      for file in cpuset.cpus cpuset.mems; do
        [ "$type" = cgroup2 ] || [ ! -f "$directory/$file" ] || cat "$directory/$file" >"$directory/$3/$file"
      done
      ;;
  esac
done </proc/mounts

# Pods are also on this bridge.
ip link add name br0 address "02:00:0a:4d:00:$(echo "${4%/*}" | sed 's/.*\.//')" type bridge
ip address add "$4" dev br0
ip link set dev br0 up
ip route add default via "$5"

# Without this mark, a machine that was not fully prepared could be used with the host's folders.
: >/run/prepared
