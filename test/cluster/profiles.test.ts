import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attachDisk } from '../../src/cpi/disk/attach-disk.ts';
import { deleteDisk } from '../../src/cpi/disk/delete-disk.ts';
import { detachDisk } from '../../src/cpi/disk/detach-disk.ts';
import { updateDisk } from '../../src/cpi/disk/update-disk.ts';
import { deleteVm } from '../../src/cpi/vm/delete-vm.ts';
import { rebootVm } from '../../src/cpi/vm/reboot-vm.ts';
import { namespaces } from '../../src/kubernetes/resources.ts';
import { until } from '../support/until.ts';
import { readByVcap, whoReadsToken } from '../support/who-reads-token.ts';
import { describeCluster } from './support/describe-cluster.ts';
import {
  assertAppRuns,
  cellProperties,
  limits,
  makeStore,
  prepareCell,
  tracesReader,
  storeContent,
} from './support/diego-cell.ts';
import { withDisksNamespace } from './support/disks-namespace.ts';
import { withoutOtherClass, withoutStemcell } from './support/open-cluster.ts';
import { withoutNodes } from './test-cluster.ts';

describeCluster('profiles', (world) => {
  for (const profile of ['privileged', 'sys-admin', 'baseline'] as const) {
    test(
      `${profile}: only root and vcap read the token of a VM's service account, and resolvconf keeps the pod's name servers`,
      { skip: withoutStemcell(profile) },
      async () => {
        const { image } = await world().cluster.stemcellFor(profile);
        const properties = { profile, service_account: 'default' };
        const vm = await world().newVm({ image, properties });
        await world().untilInVm(vm, 'pidof bosh-agent');
        assert.equal(await world().inVm(vm, whoReadsToken), readByVcap);
        await world().untilInVm(vm, 'pidof sshd');
        assert.equal(await world().inVm(vm, afterResolvconf), profile === 'baseline' ? 'a file\n' : 'kept\n');
        await deleteVm(world().cloud, { vmCid: vm });
      },
    );
  }

  for (const profile of ['privileged', 'sys-admin'] as const) {
    test(`${profile}: a container of bpm's shape starts inside the VM, with its own cgroup and an overlay on /var/vcap/data`, async () => {
      const vm = await world().newVm({ properties: { profile } });
      const [{ securityContext } = assert.fail()] = (await world().pod(vm)).spec.containers;
      assert.equal(securityContext?.privileged ?? false, profile === 'privileged');
      assert.equal(await world().inVm(vm, bpmContainer), 'inside\n');
      await deleteVm(world().cloud, { vmCid: vm });
    });
  }

  test(
    'privileged: a rebooted VM has the network that its pod had before jobs ran, and a writable /sys',
    { skip: withoutStemcell('privileged') },
    async () => {
      const { image } = await world().cluster.stemcellFor('privileged');
      const vm = await world().newVm({ image, properties: { profile: 'privileged' } });
      await world().untilInVm(vm, 'pidof bosh-agent');
      const before = await world().inVm(vm, network);
      await world().inVm(vm, ofJobs);
      assert.notEqual(await world().inVm(vm, network), before);
      await rebootVm(world().cloud, { vmCid: vm });
      await world().untilInVm(vm, 'pidof bosh-agent');
      assert.equal(await world().inVm(vm, network), before);
      assert.equal(await world().inVm(vm, 'test -w /sys && echo writable'), 'writable\n');
      await deleteVm(world().cloud, { vmCid: vm });
    },
  );

  test(
    'privileged: a diego-cell starts a container on XFS with limits and a veth pair, and again after a reboot with the same store',
    { ...withoutNodes, timeout: 300_000 },
    async () => {
      const { image } = await world().cluster.stemcellFor('privileged');
      const vm = await world().newVm({ image, properties: await cellProperties('loop-wait') });
      await world().untilInVm(vm, 'pidof bosh-agent');
      const before = await world().inVm(vm, network);
      const readTraces = await tracesReader(world(), vm);
      await world().inVm(vm, prepareCell);
      await world().inVm(vm, makeStore);
      await assertAppRuns(world(), vm, 1);
      assert.match(await readTraces(), tracesOfApp);
      const content = await world().inVm(vm, storeContent);

      await rebootVm(world().cloud, { vmCid: vm });
      await world().untilInVm(vm, 'pidof bosh-agent');
      assert.equal(await world().inVm(vm, network), before);
      assert.equal(await readTraces(), '');
      await world().inVm(vm, prepareCell);
      assert.equal(await world().inVm(vm, storeContent), content);
      await assertAppRuns(world(), vm, 2);
      assert.match(await readTraces(), tracesOfApp);

      await deleteVm(world().cloud, { vmCid: vm });
      await until('the node to have nothing of the cell', async () => (await readTraces()) === '');
    },
  );

  test(
    'baseline: VMs where Pod Security baseline is enforced, disks in a namespace that admits attachments only',
    { skip: withoutStemcell('baseline') || withoutOtherClass() },
    async () => {
      const { api, namespace, cluster } = world();
      const enforce = (level: string | null): Promise<unknown> => {
        const labels = { 'pod-security.kubernetes.io/enforce': level };
        return api.patch({ resource: namespaces, name: namespace }, { metadata: { labels } });
      };
      const { image } = await cluster.stemcellFor('baseline');
      await enforce('baseline');
      try {
        await withDisksNamespace(world(), async (disks) => {
          const cloud = world().cloudWith({ disk_namespace: disks });
          const vm = await world().newVm({ cloud, image, properties: { profile: 'baseline' } });
          const mounting = await world().exec(vm, 'mkdir -p /tmp/m && mount -t tmpfs none /tmp/m');
          assert.notEqual(mounting.exitCode, 0, 'mount(2) works under baseline');
          const disk = await world().newDisk('loop', 32, cloud);
          const hint = await attachDisk(cloud, { vmCid: vm, diskCid: disk });
          await world().inVm(vm, `echo ${disk} > ${hint}/canary`);
          await detachDisk(cloud, { vmCid: vm, diskCid: disk });
          // Its class waits for a consumer, which the policy must admit.
          const copy = await updateDisk(cloud, {
            diskCid: disk,
            sizeMiB: 32,
            cloudProperties: world().diskProperties('loop-wait'),
          });
          assert.ok(copy !== null && copy !== disk, `update_disk made no copy: ${copy}`);
          const copied = await attachDisk(cloud, { vmCid: vm, diskCid: copy });
          assert.equal(await world().inVm(vm, `cat ${copied}/canary`), `${disk}\n`);
          await deleteVm(cloud, { vmCid: vm });
          await deleteDisk(cloud, { diskCid: copy });
        });
      } finally {
        await enforce(null);
      }
    },
  );
});

/** One loop device, and the limits of one container: nothing is mounted outside of the VM. */
const tracesOfApp = new RegExp(
  `^unprivileged\\.backing-store\nmemory\\.(?:limit_in_bytes|max) ${limits.memory}\npids\\.max ${limits.pids}\n$`,
  'u',
);

/** Does what bosh-dns does, and prints whether the servers and the search list of the pod are still there. */
const afterResolvconf = `set -e
[ -L /etc/resolv.conf ] || { echo a file; exit 0; }
echo 'nameserver 169.254.0.2' > /etc/resolvconf/resolv.conf.d/head
resolvconf -u
[ "$(head -n 1 /etc/resolv.conf)" = 'nameserver 169.254.0.2' ]
while read -r line; do grep -qxF "$line" /etc/resolv.conf; done < /etc/resolvconf/resolv.conf.d/base
grep -q '^nameserver' /etc/resolvconf/resolv.conf.d/base && echo kept`;

/** Packet filter rules, chains and tables, interfaces, addresses, routes, and a sysctl. */
const network = `set -e
iptables-legacy-save | grep -e '^-' -e ' - ' || :
nft -s list ruleset
ip -brief link
ip -brief address
ip route show table all
cat /proc/sys/net/ipv4/ip_forward`;

/** Rules such as those of Garden and bosh-dns, and a rule that drops packets. */
const ofJobs = `set -e
iptables-legacy -t nat -N w--prerouting
iptables-legacy -t nat -A PREROUTING -j w--prerouting
iptables-legacy -t nat -A w--prerouting -p tcp --dport 61000 -j DNAT --to 10.255.0.2:8080
iptables-nft -A INPUT -s 192.0.2.1 -j DROP
ip link add w-bridge type bridge
ip address add 10.255.0.1/30 dev w-bridge
ip link set w-bridge up
ip address add 169.254.0.2/32 dev lo
ip route add blackhole 198.51.100.0/24
echo 1 > /proc/sys/net/ipv4/ip_forward`;

/**
 * What bpm does: runc with its own namespaces and cgroup, on an overlay whose upper directory is on the data
 * disk.
 */
const bpmContainer = `set -e
# the entry has come to the agent, and made the control groups writable before
until [ -x /var/lib/bosh-kubernetes/shims/umount ]; do sleep 0.1; done
base=/var/vcap/data/bpm-shape
mkdir -p $base/upper $base/work $base/root $base/bundle
mount -t overlay overlay -o lowerdir=/,upperdir=$base/upper,workdir=$base/work $base/root
cat > $base/bundle/config.json <<JSON
{ "ociVersion": "1.0.2",
  "process": { "user": { "uid": 1000, "gid": 1000 }, "cwd": "/", "args": ["/bin/sh", "-c", "grep -q /bpm-shape- /proc/self/cgroup && echo inside"],
    "env": ["PATH=/usr/bin:/bin"], "noNewPrivileges": true },
  "root": { "path": "$base/root", "readonly": true },
  "mounts": [{ "destination": "/proc", "type": "proc", "source": "proc" }],
  "linux": { "cgroupsPath": "/bpm-shape-$$", "resources": { "memory": { "limit": 67108864 } },
    "namespaces": [{ "type": "ipc" }, { "type": "mount" }, { "type": "pid" }, { "type": "uts" }] } }
JSON
runc --root $base/state run --bundle $base/bundle bpm-shape
umount $base/root`;
