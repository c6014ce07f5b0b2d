/** Facts about the machine that a probe needs, as shell variables. */
export interface Target {
  /**
   * A read-only directory of the host in the pod, such as `/usr`. For the proof it is a directory of the test
   * with the same kind of mount.
   */
  readonly folder: string;
  /** The path of a file on the host. */
  readonly canary: string;
  /** A word on the command line of a process of the host, and the pid of that process. */
  readonly word: string;
  readonly pid: number;
  /** A block device of the host (/proc/partitions). */
  readonly disk: string;
  readonly major: string;
  readonly minor: string;
  /** `major:minor` of the host's root file system. */
  readonly rootDevice: string;
  /** The cluster's directory. Its subdirectories are what pods may write to on that file system. */
  readonly cluster: string;
}

export interface Probe {
  readonly name: string;
  /** Shell script that ends with 0 if the attack succeeds. It does no harm in that case. */
  readonly script: string;
  /**
   * `host`: the test proves that the same script succeeds for root on the host, in another mount namespace.
   * `where it can`: not every host permits this to root; if it does not, the probe is skipped. Otherwise the
   * reason why the script is not run on the host.
   */
  readonly proof: 'host' | 'where it can' | { readonly none: string };
}

export const variables = (target: Target): string =>
  Object.entries(target)
    .map(([name, value]) => `${name}='${value}'`)
    .join('\n');

/** Returns a script that writes the current value of a setting. */
const sysctl = (name: string): string =>
  `value=$(cat /proc/sys/${name}) && printf '%s' "$value" > /proc/sys/${name}`;

const scratch = 'scratch=$(mktemp -d) && cd "$scratch"';

/**
 * Attaches to a pid (PTRACE_ATTACH, 16), checks whether that stopped the process with that word, and detaches
 * (17). Perl has no function for ptrace(2).
 */
const trace = `my ($machine, $pid, $word) = @ARGV;
  my $ptrace = { x86_64 => 101, aarch64 => 117 }->{$machine} or die "no number for $machine";
  syscall($ptrace, 16, 0 + $pid, 0, 0) == 0 or die "attach: $!";
  waitpid($pid, 0x40000000);
  open(my $file, "<", "/proc/$pid/cmdline");
  my $found = index(join("", <$file>), $word) >= 0;
  syscall($ptrace, 17, 0 + $pid, 0, 0) == 0 or die "detach: $!";
  exit !$found`;

export const probes: readonly Probe[] = [
  {
    name: 'remount a folder of the host writable',
    script: 'mount -o remount,bind,rw "$folder" && touch "$folder/.bosh-kubernetes-$word"',
    proof: 'host',
  },
  { name: 'unmount a folder of the host', script: 'umount "$folder"', proof: 'host' },
  {
    name: 'write to a folder of the host through a bind of it',
    script: `${scratch} && mkdir b && mount --bind "$folder" b && mount -o remount,bind,rw b && touch "b/.bosh-kubernetes-$word"`,
    proof: 'host',
  },
  {
    name: 'change the mode of a device of the host',
    script: 'for device in null zero full random urandom; do chmod 666 /dev/$device && exit 0; done; exit 1',
    proof: 'host',
  },
  {
    name: 'change the mode or owner of a file of /proc that every /proc of the machine has',
    script:
      'for file in meminfo uptime stat filesystems; do chmod 444 /proc/$file && exit 0; chown 0:0 /proc/$file && exit 0; done; exit 1',
    proof: 'host',
  },
  {
    name: 'change anything of the host file system that a mount shows, outside of the cluster',
    script: `for target in $(awk -v d="$rootDevice" -v c="$cluster/" '$3 == d && index($4, c) != 1 { print $5 }' /proc/self/mountinfo); do
      chmod "$(stat -Lc %a "$target")" "$target" && exit 0
      touch -a "$target" && exit 0
    done; exit 1`,
    proof: 'host',
  },
  ...['vm/swappiness', 'kernel/core_pattern', 'kernel/panic', 'fs/file-max', 'net/ipv4/ip_forward'].map(
    (name): Probe => ({ name: `set the sysctl ${name}`, script: sysctl(name), proof: 'host' }),
  ),
  {
    name: 'unmount what keeps /proc/sys',
    script: `{ umount /proc/sys || umount -l /proc/sys; }`,
    proof: { none: 'nothing keeps it on the host' },
  },
  {
    name: 'remount /proc/sys writable',
    script: `mount -o remount,bind,rw /proc/sys && ${sysctl('vm/swappiness')}`,
    proof: { none: 'it is no mount of its own on the host' },
  },
  {
    name: 'reach /proc/sys below what keeps it',
    script: `${scratch} && mkdir p && mount --bind /proc p && cat /proc/sys/vm/swappiness > p/sys/vm/swappiness`,
    proof: 'host',
  },
  {
    name: 'set a sysctl through the root of another process',
    script: `for process in $(cd /proc; ls -d [0-9]*); do
      file=/proc/$process/root/proc/sys/vm/swappiness; value=$(cat $file) && echo "$value" > $file && exit 0
    done; exit 1`,
    proof: 'host',
  },
  {
    name: 'set a sysctl through a new /proc in the mount namespace of another process',
    script: `for process in $(cd /proc; ls -d [0-9]*); do
      nsenter --target $process --mount unshare --pid --fork --mount --propagation private sh -c 'mount -t proc p /proc && cat /proc/sys/vm/swappiness > /proc/sys/vm/swappiness' && exit 0
    done; exit 1`,
    proof: 'host',
  },
  {
    name: 'mount a second /proc',
    script: `${scratch} && mkdir p && mount -t proc p p && cat p/sys/vm/swappiness > p/sys/vm/swappiness`,
    proof: 'host',
  },
  {
    name: 'mount a second /proc in nested namespaces',
    script: `${scratch} && mkdir p && for options in --user '--user --map-root-user' ''; do
      unshare $options --mount --pid --fork mount -t proc p p && exit 0
    done; exit 1`,
    proof: 'host',
  },
  {
    name: 'remount /sys writable',
    script: 'mount -o remount,bind,rw /sys && test -w /sys/kernel',
    proof: 'host',
  },
  {
    name: 'mount a writable /sys in a network namespace of its own',
    script: `${scratch} && mkdir s && unshare --mount --net mount -t sysfs s s`,
    proof: 'host',
  },
  {
    name: 'see the cgroups of the machine',
    script: `umount -l /sys/fs/cgroup; ls /sys/fs/cgroup/* > /dev/null && exit 0
      ${scratch} && mkdir c && for type in 'cgroup2' 'cgroup -o memory'; do
        mount -t $type c c && exit 0
        unshare --cgroup --mount mount -t $type c c && exit 0
        unshare --user --map-root-user --cgroup --mount mount -t $type c c && exit 0
      done; exit 1`,
    proof: 'host',
  },
  {
    name: 'mount devtmpfs',
    script: `${scratch} && mkdir d && mount -t devtmpfs d d && test -e d/null`,
    proof: 'host',
  },
  ...['debugfs', 'tracefs', 'securityfs'].map((type): Probe => ({
    name: `mount ${type}`,
    script: `${scratch} && mkdir d && mount -t ${type} d d`,
    proof: 'where it can',
  })),
  {
    name: 'pull the trigger of sysrq',
    script: ': > /proc/sysrq-trigger',
    proof: 'where it can',
  },
  { name: 'make a block device', script: `${scratch} && mknod disk b "$major" "$minor"`, proof: 'host' },
  { name: 'make a character device', script: `${scratch} && mknod mem c 1 1`, proof: 'host' },
  {
    name: 'open a block device',
    script: `${scratch}; mknod disk b "$major" "$minor"; head -c 1 disk > /dev/null || head -c 1 "/dev/$disk" > /dev/null`,
    proof: 'where it can',
  },
  {
    name: 'open /dev/mem, /dev/kmem, /dev/port or /proc/kcore',
    script:
      'for file in /dev/mem /dev/kmem /dev/port /proc/kcore; do head -c 1 $file > /dev/null && exit 0; done; exit 1',
    proof: 'where it can',
  },
  {
    name: 'mount a block device',
    script: `${scratch} && mkdir d && { mknod disk b "$major" "$minor"; mount -o ro disk d || mount -o ro "/dev/$disk" d; }`,
    proof: 'where it can',
  },
  {
    name: 'see a process of the host',
    script: 'grep -qsae "$word-on-hos[t]" /proc/[0-9]*/cmdline',
    proof: 'host',
  },
  {
    name: 'signal a process of the host',
    script: 'kill -0 "$pid" && grep -qae "$word-on-hos[t]" "/proc/$pid/cmdline"',
    proof: 'host',
  },
  {
    name: 'trace a process of the host',
    script: `command -v perl > /dev/null || exit 1; perl -e '${trace}' "$(uname -m)" "$pid" "$word-on-host"`,
    proof: 'host',
  },
  {
    name: 'read a file of the host through /proc',
    script: `for process in self 1 thread-self $(cd /proc; ls -d [0-9]*); do
      for way in root cwd cwd/.. root/.. cwd/../../../../../..; do cat "/proc/$process/$way$canary" > /dev/null && exit 0; done
    done; exit 1`,
    proof: 'host',
  },
  {
    name: 'find a file of the host by its path',
    script: 'cat "$canary" > /dev/null',
    proof: 'host',
  },
  {
    name: 'find the root of the host among the mounts',
    script: `awk -v d="$rootDevice" '$3 == d && $4 == "/" { found = 1 } END { exit !found }' /proc/self/mountinfo`,
    proof: 'host',
  },
  {
    name: 'leave the root by chroot',
    script: `command -v perl > /dev/null || exit 1
      perl -e 'mkdir "/tmp/jail"; chroot("/tmp/jail") or exit 1; chdir("..") for 1..64; chroot(".") or exit 1; open(my $f, "<", $ARGV[0]) or exit 1; exit 0' "$canary"`,
    proof: 'host',
  },
  {
    name: 'enter the mount namespace of the host',
    script: `for process in $(cd /proc; ls -d [0-9]*); do
      nsenter --target "$process" --mount cat "$canary" > /dev/null && exit 0
    done; exit 1`,
    proof: 'host',
  },
  {
    name: 'change a network interface of the host',
    script: 'command -v ip > /dev/null || exit 1; ip link set dev lo up',
    proof: 'host',
  },
  {
    name: 'open a raw socket on the network of the host',
    script: `command -v perl > /dev/null || exit 1; perl -e 'socket(my $s, 2, 3, 1) or exit 1'`,
    proof: 'host',
  },
];
