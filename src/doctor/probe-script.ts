import { controlGroups } from '../cpi/vm/scripts/control-groups.ts';
import { kernelFolders } from '../cpi/vm/scripts/entry.ts';

/** The folder on the data volume that the probe works in. Its name is also that of its control groups. */
const workDirectory = '/var/vcap/data/bosh-kubernetes-doctor';

/** The file in the pod that has the report of the probe, as soon as the probe has ended. */
const reportPath = '/run/bosh-kubernetes-doctor';

/**
 * An empty XFS file system of 16 MiB, compressed twice and in base64, because a stemcell may have no mkfs.xfs,
 * and a new one makes features that older kernels refuse. Garden brings its own. Made by xfsprogs 6.1 with
 * features of Linux 5.4: mkfs.xfs -d agcount=1 -l size=1368b -m
 * crc=1,finobt=1,rmapbt=0,reflink=0,bigtime=0,inobtcount=0 -i sparse=1,nrext64=0
 */
const xfsImage = `H4sIAAAAAAACA+3c6VMTZxgAcAoUGMrlAXQUm44VVFpIObRVgTi9KFA8ULDSSlIci1SuEeUQ8BVpZUo7poVRFEXKFRQCpEVBBNzM
2IIWAyqg3EvlJoEIQiCE3bfv2v4BnX5z5vl9yjzzHPu8m8mHzM7yfjDR4+gbqHrDI1YG6smnu2yGXE+H7vrAzGGV+f7CRrdPHkam
PjY1OW2SYaJvGrzM0NJQbLpWPzRwyOojK+ufSwcit+8eNDZIthIfNlvldWHAuL7AyH7D8XtRR8InjELWzQzM+zlEx7lua2tBDl01
4VuvSlF45nW/oxONja4+gVH25+gHHu8VuWl/XSc4P6IJfyKiR9JCUMWGjb6Z583FCQllQX+kr/dpWlwxdExhXm5r/92NiNmtSRXt
93sDcKyNOiTxmcqmuerDqm8dzB038nUlgSk1BUZPXDpEDfujwj0FdR4BA+wCvWl1dpdkKmSu8nC7IAvFBdSOuuReK66eTrk92OS0
ehV91PgRQ80zzSesT5z1FtezTK+aTv40rtahzkzhfKd3mXFbirmena+vb2uvZxj/m9nEXw7la1H2HO1096RR/ea67rXbzvbEOnOH
aXfqOY7yv497rHMwehZDuYxgErUSZ2Q+cotvVa5WYLGTO0bXo4dtaymm9ZiCmrTct5ykWHx5yNq/BYv57rhyS6iy7t+6AwLp/ux2
3FpTsLjlZJrLPcT/KZhhJf7pC8N/CrPO0Ol715hRe5rPNa2/pzDwsNQDAAAAAAAAAAAAAAAA8L/YBTs6O2nz37/RJCmQaMoiPNUZ
zhdzPuu7QCd/vqJuaprtls64CPN2jXX6566fd8zluXH/cnfEvI0/xqVFCa2O15D6t/zSqHdi7t4q3FSmFDJfj17TPaamFsYzJYvP
0Ry+Ht1305ZR5mGL13okmnLUN91WvKhWsz4B9TwxVYdLh0dbLJLib11ip+dp97c8XWQonhlU09OpbWeMNOp8tMT4jebG7BBhVxIW
KL/PEpuphBUknFSpY8rkrK2Sh7BOqD2+T4RNSQo1PN6tTWX4DwUsuyakv3arDO0kYXQnhZ4zUdF+eEHHT1no+SuVSeIqc3cy7Q4y
XLzYROMfvWtyl3dSYnIpaEAbdt5Qoy4jg3TSBHZSzmaPk/RCukK7ToYEpCNWfFFWbaxRV5KUbKcEp2crx5vnxBQaXqrZYaYSbCeD
8rxSItVydt8YqVxjeTv+oAincoMKAg9mv6rhFZHKGn75ZZtO7Ms1fDSxmzbWUL6kUpwc/XujnE3jGpZ4TzW8K8MdXGWbfdY2Iw2v
gFSG7aVdnGV4EwkL9mz6SiTC+eQj1TcY2W2s4UlIBhXcrpHK2ScTZPzGqox0Qw3vxcH106EBIryM6yfN2dGRynhzGdSVyfq1Mnyc
hJFWOSkwUaEGchK8Os2FcpLCbW97ZWmsXc4WkqvCsi28alMVSiMpAjTRdEdfR18lzVHi4YOJohf7CHQX+UJzFcoiKWr2aVisgU7M
3ZVcumsmTIQvcV1sKyP77TqRlBvkFdkyJmcHZ8nKivvaFNKQWxOF3BwrImEuOzE22zDOb+cD0uTQEQlLzi2IzBEyjbOtJJtbWYCi
HufI2Rru1g4GBfEtVCid+2Z5JI2dkrMruCa79xiJLVWohIQrEyJEJXI2ixvZ8ZS1NdTkSUmTI8LJKi8ZPsAd0OX4JPb1ThzF7TNS
PDOeyqi5HVqdldXuMtywaAA/IgAAAAAAL6UlxRt2/zw9pKU2ny4FAAAAAAAAAAAAAAAAAAAAAAAAwMvONylmO/cowJtDWHnG8L88
PtCvH+Kj5N578crfR2/oeYVEAAA=`;

/** The kernel parameters that jobs of Cloud Foundry write. */
export const kernelParameters = [
  ...['vm.overcommit_memory', 'kernel.dmesg_restrict', 'kernel.pid_max', 'kernel.shmmax'],
  'kernel.core_pattern',
  ...['net.ipv4.tcp_fin_timeout', 'net.ipv4.tcp_tw_reuse', 'net.netfilter.nf_conntrack_max'],
  ...['fs.inotify.max_user_watches', 'fs.inotify.max_user_instances', 'fs.inotify.max_queued_events'],
  ...['net.ipv4.ip_local_port_range', 'net.ipv4.ip_local_reserved_ports', 'net.core.somaxconn'],
] as const;

/**
 * Shell script that tries what jobs of Cloud Foundry need. It prints a line for each attempt: its name, `yes`
 * or `no`, and what was found or the error, with tabs between them. $1 is a folder on the data volume, whose
 * name is also that of the control groups. Needs root, and mount and network namespaces of its own.
 *
 * - Each object is removed as soon as it was tried. If the probe is killed, its mounts and links end with the
 *   namespaces of the pod, and its control groups with the pod. Only a loop device may stay, which the next
 *   probe on the node frees (`free_loop_devices`).
 * - A container has only the devices that the node had at its start. Garden makes nodes for the others, too.
 * - XFS is mounted with `loop`, so that the kernel frees the device with the mount, and with `nouuid`,
 *   because another probe may have the same image mounted.
 * - The layers of the overlay are on XFS, as those of Garden; without XFS they are on the data volume.
 * - Each kernel parameter is written with the value that it has, so the node does not change.
 * - A file system type is looked up after an attempt to mount it, for which the kernel loads its module.
 */
export const probeScript = String.raw`set -u
work=$1
group=$(basename "$work")
PATH=/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C
export PATH LC_ALL
say() { printf '%s\t%s\t%s\n' "$1" "$2" "$(printf %s "$3" | tr -s '[:space:][:cntrl:]' ' ' | cut -c 1-300)"; }
probe() {
  name=$1
  shift
  if text=$("$@" 2>&1); then say "$name" yes "$text"; else say "$name" no "$text"; fi
}
tools() {
  lacking=
  for tool in awk base64 cat cut grep gzip ip losetup mknod mount mountpoint sed stat tr truncate umount unshare wc; do
    command -v "$tool" > /dev/null || lacking="$lacking $tool"
  done
  echo "$lacking"
  [ -z "$lacking" ]
}
free_loop_devices() {
  for file in /sys/block/loop*/loop/backing_file; do
    case $(cat "$file" 2> /dev/null) in */"$group"/*) ;; *) continue ;; esac
    losetup --detach "/dev/$(echo "$file" | cut -d / -f 4)"
  done
}
make_loop_nodes() {
  [ -e /dev/loop-control ] || mknod -m 660 /dev/loop-control c 10 237
  number=0
  while [ "$number" -lt 256 ]; do
    [ -e "/dev/loop$number" ] || mknod -m 660 "/dev/loop$number" b 7 "$number" || return
    number=$((number + 1))
  done
}
loop_device() {
  truncate -s 1M "$work/loop" && device=$(losetup --find --show "$work/loop") || return
  losetup --detach "$device" && echo "$device"
}
make_xfs() {
  mkdir -p "$work/xfs"
  base64 -d << IMAGE | gzip -dc | gzip -dc > "$work/xfs.image"
${xfsImage}
IMAGE
}
xfs() {
  mount -t xfs -o "loop,nouuid,noatime$1" "$work/xfs.image" "$work/xfs" || return
  options=$(awk -v point="$work/xfs" '$5 == point { print $NF }' /proc/self/mountinfo)
  : > "$work/xfs/file"
  umount "$work/xfs" || return
  case ,$options, in *"$1,"*) echo "$options" ;; *) echo "mounted without $1: $options" && return 1 ;; esac
}
shared_mounts() {
  mkdir -p "$work/shared/inside" "$work/peer"
  mount --bind "$work/shared" "$work/shared" && mount --make-shared "$work/shared" &&
    mount --bind "$work/shared" "$work/peer" && mount -t tmpfs doctor "$work/shared/inside" || return
  mountpoint -q "$work/peer/inside"
  seen=$?
  umount "$work/shared/inside" "$work/peer" "$work/shared"
  [ "$seen" -eq 0 ] || { echo "a mount in a shared folder does not appear at its peer" && return 1; }
}
overlay() {
  mount -t xfs -o loop,nouuid "$work/xfs.image" "$work/xfs" 2> /dev/null
  base=$work/xfs
  for name in lower upper work merged; do mkdir -p "$base/$name"; done
  echo lower > "$base/lower/file"
  mount -t overlay -o "lowerdir=$base/lower,upperdir=$base/upper,workdir=$base/work" overlay "$base/merged"
  mounted=$?
  if [ "$mounted" -eq 0 ]; then
    echo upper > "$base/merged/file"
    umount "$base/merged"
    files=$(cat "$base/lower/file" "$base/upper/file")
    [ "$files" = "$(printf 'lower\nupper')" ] || { echo "a change was written to the wrong layer" && mounted=1; }
  fi
  stat -f -c 'on %T' "$base"
  umount "$base" 2> /dev/null
  return "$mounted"
}
has_only_v2() { [ "$(stat -f -c %T /sys/fs/cgroup)" = cgroup2fs ]; }
cgroup_version() {
  if has_only_v2; then echo v2 "($(cat /sys/fs/cgroup/cgroup.controllers))"; return; fi
  [ -d /sys/fs/cgroup/memory ] || { echo "no cgroups at /sys/fs/cgroup" && return 1; }
  echo v1
}
limit() { echo "$2" > "$1" || { echo "$1 cannot be set" && return 1; }; }
make_groups() {
  if has_only_v2; then
    groups=/sys/fs/cgroup/$group
    limit /sys/fs/cgroup/cgroup.subtree_control '+memory +pids' && mkdir "$groups" || return
    limit "$groups/memory.max" 67108864 && limit "$groups/pids.max" 32
    return
  fi
  groups="/sys/fs/cgroup/memory/$group /sys/fs/cgroup/pids/$group"
  mkdir $groups || return
  limit "/sys/fs/cgroup/memory/$group/memory.limit_in_bytes" 67108864 && limit "/sys/fs/cgroup/pids/$group/pids.max" 32
}
remove_groups() {
  for each in $groups; do
    [ -d "$each" ] || continue
    tries=0
    until rmdir "$each" 2> /dev/null || [ "$tries" -eq 50 ]; do tries=$((tries + 1)) && sleep 0.1; done
  done
}
nested_container() {
  groups=
  make_groups
  made=$?
  found=
  if [ "$made" -eq 0 ]; then
    found=$(sh -c 'for each in $1; do echo $$ > "$each/cgroup.procs" || exit; done
      exec unshare --user --map-root-user --mount --pid --net --ipc --uts --fork --mount-proc \
        sh -c "hostname doctor && echo \$\$ \$(hostname) \$(grep -c /$2\$ /proc/self/cgroup)"' sh "$groups" "$group" 2>&1)
  fi
  remove_groups
  # the first process of its own, in as many cgroups as were made
  if [ "$found" = "1 doctor $(echo "$groups" | wc -w)" ]; then
    echo "with limits of memory and pids"
  else
    echo "$found"
    return 1
  fi
}
apparmor() {
  [ "$(cat /sys/module/apparmor/parameters/enabled 2> /dev/null)" = Y ]
}
link() {
  kind=$1
  shift
  ip link add doctor0 type "$kind" "$@" && ip link set doctor0 up
  made=$?
  ip link delete doctor0 2> /dev/null
  return "$made"
}
character_device() {
  [ -e "$1" ] || mknod "$1" c "$2" "$3" || return
  : <> "$1"
}
file_system() {
  mkdir -p "$work/other"
  mount -i -t "$1" none "$work/other" 2> /dev/null && umount "$work/other"
  grep -qw "$1" /proc/filesystems
}
kernel_parameter() {
  file=/proc/sys/$(echo "$1" | tr . /)
  cat "$file" || return
  value=$(cat "$file")
  (printf '%s\n' "$value" > "$file") 2> /dev/null
}
huge_pages() {
  file=/sys/kernel/mm/transparent_hugepage/enabled
  value=$(sed 's/.*\[//; s/\].*//' "$file") || { echo "$value" && return 1; }
  echo "$value"
  (echo "$value" > "$file") 2> /dev/null
}
free_loop_devices
rm -rf "$work" && mkdir -p "$work" || exit
probe tools tools
make_loop_nodes 2> /dev/null
probe loop loop_device
make_xfs
probe xfs xfs ''
probe xfs-quota xfs ,prjquota
probe shared-mounts shared_mounts
probe overlay overlay
probe cgroups cgroup_version
probe nested-container nested_container
probe apparmor apparmor
probe dummy link dummy
probe vxlan link vxlan id 1 dstport 4789 gbp
probe veth link veth peer name doctor1
probe ifb link ifb
probe transparent_hugepage huge_pages
probe fuse character_device /dev/fuse 10 229
probe nfs file_system nfs4
probe cifs file_system cifs
for key in ${kernelParameters.join(' ')}; do probe "$key" kernel_parameter "$key"; done
free_loop_devices
rm -rf "$work"
`;

/**
 * Arguments of PID 1 in the pod of the probe: it arranges cgroups and /sys as the entry of a VM does, so that
 * the probe runs as a job of a VM would. It ends after a quarter of an hour, also if no process deletes the
 * pod.
 */
export const standbyCommand: readonly string[] = [
  ...['/bin/sh', '-c'],
  `say() { echo "$*"; }
${controlGroups}${kernelFolders}own_cgroups "$@"
open_kernel_folders privileged
sh -c "$1" probe ${workDirectory} > ${reportPath}.new
mv ${reportPath}.new ${reportPath}
trap 'exit 0' TERM INT
sleep 900 &
wait "$!"
`,
  'doctor',
  probeScript,
];

/** Prints the report of the probe. The exit code is 1 if the probe is still running. */
export const readReport = ['/bin/sh', '-c', `[ ! -e ${reportPath} ] && exit 1; cat ${reportPath}`] as const;
