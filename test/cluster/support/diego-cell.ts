import assert from 'node:assert/strict';
import { until } from '../../support/until.ts';
import { cloudPropertiesOf, readCloudConfig } from '../../../src/director/cloud-foundry/layout-vms.ts';
import { checkout } from '../../support/embedded-environment.ts';
import type { ClusterWorld } from './cluster-world.ts';

/**
 * Returns the cloud_properties of a diego-cell in the smallest cloud-config for Cloud Foundry, with sizes for
 * the suite's nodes and this storage class for its ephemeral disk.
 */
export async function cellProperties(storageClass: string): Promise<Readonly<Record<string, unknown>>> {
  const variables = { node_address: '192.0.2.11', ephemeral_storage_class: storageClass };
  const config = await readCloudConfig(checkout, 'smallest', variables);
  const properties = cloudPropertiesOf(config, 'small-highmem', ['100GB_ephemeral_disk']);
  const small = {
    ...{ profile: 'privileged', cpu: '100m', memory: 256, resources: { limits: { memory: '768Mi' } } },
    ephemeral_disk: { size: 640, storage_class: storageClass },
  };
  assert.deepEqual(shapeOf(small), shapeOf(properties), 'a diego-cell has other properties');
  assert.equal(small.profile, properties['profile']);
  return small;
}

/** Returns the sorted paths of the leaves of a value. */
function shapeOf(value: unknown, path = ''): readonly string[] {
  if (typeof value !== 'object' || value === null) return [path];
  return Object.entries(value)
    .flatMap(([key, child]) => shapeOf(child, `${path}/${key}`))
    .toSorted();
}

/** The user to which Garden maps root of a container: the highest uid of the VM. */
const maximus = 4_294_967_294;
const mappings = [
  { containerID: 0, hostID: maximus, size: 1 },
  { containerID: 1, hostID: 1, size: maximus - 1 },
];

/** The limits of the container. */
export const limits = { memory: 67_108_864, pids: 32 } as const;

/** The container's cgroup, relative to that of the process which starts it. */
const cgroup = 'garden/app';

/** The port of the pod that leads to the app. */
const hostPort = 61_000;

/** Jobs have the same PATH, in which the CPI's `mount` comes before mount(8). */
const settings = `set -e
export PATH=/var/lib/bosh-kubernetes/shims:$PATH LC_ALL=C
store=/var/vcap/data/grootfs/store/unprivileged
image=$store/images/app`;

/**
 * Does what scripts of jobs do on a cell, except what the doctor tries too. It fails if one of these fails.
 *
 * - grootfs, Garden and rep call programs of the stemcell.
 * - Packages are on /var/vcap/data and contain programs, one of them with the setuid bit (grootfs: tardis).
 * - bpm raises the limit of open files, and Garden that of processes (bpm-release: jobs/bpm/templates/bpm;
 *   garden-runc-release: src/greenskeeper/scripts/system-preparation). A container can only do that if its
 *   machine has the capability, which sandboxes may lack.
 * - With cgroup v1, Garden mounts the hierarchy of devices in /tmp, and each hierarchy below /sys/fs/cgroup,
 *   which may already be there (EBUSY). It makes its cgroup at the path that /proc/self/cgroup has (guardian:
 *   rundmc/cgroups/starter_linux.go).
 * - Garden makes nodes for loop devices.
 */
export const prepareCell = `${settings}
for program in mkfs.xfs losetup mountpoint flock logger nc iptables ip; do command -v "$program" > /dev/null; done
cp /usr/bin/id /var/vcap/data/packages/setuid-id
chmod 4755 /var/vcap/data/packages/setuid-id
[ "$(setpriv --reuid vcap --regid vcap --clear-groups /var/vcap/data/packages/setuid-id -u)" = 0 ]
if capsh --has-p=cap_sys_resource 2> /dev/null; then bash -c 'ulimit -n 524288 && ulimit -u unlimited'; fi
if grep -q :devices: /proc/self/cgroup; then
  mkdir /tmp/devices-cgroup
  mount -t cgroup -o devices none /tmp/devices-cgroup
  umount /tmp/devices-cgroup
  for name in cpu cpuset devices freezer memory pids; do
    mount -t cgroup -o "$name" cgroup "/sys/fs/cgroup/$name" 2> /dev/null || mountpoint -q "/sys/fs/cgroup/$name"
    own=$(sed -n "s/^[0-9]*:\\(.*,\\)*$name\\(,.*\\)*://p" /proc/self/cgroup)
    mkdir -p "/sys/fs/cgroup/$name$own/garden"
  done
fi
[ -e /dev/loop-control ] || mknod -m 660 /dev/loop-control c 10 237
for number in $(seq 0 255); do
  [ -e "/dev/loop$number" ] || mknod -m 660 "/dev/loop$number" b 7 "$number"
done`;

/**
 * Makes a store as grootfs does, with an image whose only layer contains a program that answers on port 8080
 * with the number of its starts. The kernels that the suite runs on may lack project quotas, so it is mounted
 * without prjquota.
 */
export const makeStore = `${settings}
mkdir -p $store
truncate -s 1G $store.backing-store
mkfs.xfs -f -q $store.backing-store
mount -o loop,noatime -t xfs $store.backing-store $store
mknod $store/whiteout_dev c 0 0
layer=$store/volumes/layer
mkdir -p $layer $image/diff $image/workdir $image/rootfs
for program in sh wc nc; do
  file=$(command -v "$program")
  cp -L --parents "$file" $(ldd "$file" | grep -o '/[^ ]*') $layer
done
cat > $layer/app <<'APP'
#!/usr/bin/sh
trap 'exit 0' TERM
echo started >> /starts
wc -l < /starts > /number
while :; do nc -l -N 8080 < /number; done
APP
chmod 755 $layer/app
chown -R ${maximus}:${maximus} $store
chmod 700 $store`;

/** Mounts the store if it is not mounted, and prints the owner, size and checksum of each file in it. */
export const storeContent = `${settings}
mountpoint -q $store || mount -o loop,noatime -t xfs $store.backing-store $store
cd $store
find . -xdev -type f -exec stat -c '%u %s %n' {} + -exec sha256sum {} + | sort
stat -c '%t:%T %F' whiteout_dev`;

const guarded = ['nosuid', 'noexec', 'nodev'];

/** As Garden's for apps (guardian: guardiancmd/command_linux.go), without seccomp. */
const configuration = {
  ociVersion: '1.0.2',
  process: {
    ...{ user: { uid: 0, gid: 0 }, cwd: '/', args: ['/app'], env: ['PATH=/usr/bin:/bin'] },
    noNewPrivileges: true,
  },
  root: { path: '/var/vcap/data/grootfs/store/unprivileged/images/app/rootfs' },
  hostname: 'app',
  mounts: [
    { destination: '/proc', type: 'proc', source: 'proc', options: guarded },
    { destination: '/sys', type: 'sysfs', source: 'sysfs', options: [...guarded, 'ro'] },
    { destination: '/sys/fs/cgroup', type: 'cgroup', source: 'cgroup', options: [...guarded, 'ro'] },
    { destination: '/dev', type: 'tmpfs', source: 'tmpfs', options: ['noexec', 'mode=755'] },
    { destination: '/dev/shm', type: 'tmpfs', source: 'tmpfs', options: [...guarded, 'mode=1777'] },
    { destination: '/dev/mqueue', type: 'mqueue', source: 'mqueue', options: guarded },
    {
      ...{ destination: '/dev/pts', type: 'devpts', source: 'devpts' },
      options: ['nosuid', 'noexec', 'newinstance', 'gid=5', 'ptmxmode=0666', 'mode=0620'],
    },
  ],
  linux: {
    cgroupsPath: cgroup,
    resources: { memory: { limit: limits.memory, swap: limits.memory }, pids: { limit: limits.pids } },
    namespaces: ['ipc', 'mount', 'network', 'pid', 'user', 'uts'].map((type) => ({ type })),
    ...{ uidMappings: mappings, gidMappings: mappings },
    maskedPaths: ['/proc/kcore', '/proc/keys', '/sys/firmware'],
  },
};

/**
 * Starts a container as Garden does: an overlay as its root, a user namespace, its own cgroup below Garden's,
 * and a veth pair whose other end is in the VM, with a forwarded port. With cgroup v2 the path of the cgroup
 * is absolute (guardian: guardiancmd/command_linux.go).
 */
export const startApp = `${settings}
mount -t overlay -o lowerdir=$store/volumes/layer,upperdir=$image/diff,workdir=$image/workdir overlay $image/rootfs
mkdir -p /run/app
cat > /run/app/config.json <<'JSON'
${JSON.stringify(configuration)}
JSON
if [ "$(stat -f -c %T /sys/fs/cgroup)" = cgroup2fs ]; then sed -i 's:"${cgroup}":"/${cgroup}":' /run/app/config.json; fi
runc create --bundle /run/app app > /run/app/log 2>&1 || { cat /run/app/log && exit 1; }
pid=$(runc state app | sed -n 's/.*"pid": \\([0-9]*\\).*/\\1/p')
ip link add w-app-0 type veth peer name w-app-1
ip link set w-app-1 netns "$pid"
ip address add 10.255.0.1/30 dev w-app-0
ip link set w-app-0 up
nsenter --net --target "$pid" sh -ec '
  ip link set lo up
  ip address add 10.255.0.2/30 dev w-app-1
  ip link set w-app-1 up
  ip route add default via 10.255.0.1'
echo 1 > /proc/sys/net/ipv4/ip_forward
iptables-legacy -t nat -N w--prerouting
iptables-legacy -t nat -A PREROUTING -j w--prerouting
iptables-legacy -t nat -A w--prerouting -p tcp --dport ${hostPort} -j DNAT --to 10.255.0.2:8080
runc start app`;

/**
 * Starts the container in a VM and waits for its answers: in the VM through the veth pair, and on the VM's
 * node through the forwarded port of the pod. `starts` is the number that it must answer.
 */
export async function assertAppRuns(world: ClusterWorld, vm: string, starts: number): Promise<void> {
  await world.inVm(vm, startApp);
  assert.equal(await world.untilInVm(vm, 'nc -d -w 5 10.255.0.2 8080 | grep .'), `${starts}\n`);
  const { podIP = '' } = (await world.pod(vm)).status ?? {};
  const node = await world.nodeOf(vm);
  const ask = ['bash', '-c', `exec 3<> /dev/tcp/${podIP}/${hostPort} && grep . <&3`];
  const answer = await until(`the app at ${podIP}`, async () => {
    const { exitCode, stdout } = await node.run(ask);
    return exitCode === 0 && stdout;
  });
  assert.equal(answer, `${starts}\n`);
}

/**
 * Returns a function that prints what the node of a VM has of the container and its store outside of the VM:
 * the mounts in its own mount namespace, the loop devices, and the limits of cgroups below those of the pod.
 * The function also works after the VM is deleted.
 */
export async function tracesReader(world: ClusterWorld, vm: string): Promise<() => Promise<string>> {
  const { uid } = (await world.pod(vm)).metadata;
  const node = await world.nodeOf(vm);
  const command = ['sh', '-c', tracesOnNode, 'sh', uid ?? assert.fail()];
  return async () => (await node.run(command)).stdout;
}

const tracesOnNode = `grep grootfs /proc/self/mountinfo
cat /sys/block/loop*/loop/backing_file 2> /dev/null | grep -o 'unprivileged.backing-store'
find /sys/fs/cgroup -path "*$1*/${cgroup}/*" \\( -name 'memory.limit_in_bytes' -o -name memory.max -o -name pids.max \\) \\
  -printf '%f ' -exec cat {} \\; | sort`;
