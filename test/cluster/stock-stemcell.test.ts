import assert from 'node:assert/strict';
import { test } from 'node:test';
import { label } from '../../src/cpi/objects/labels.ts';
import { rebootVm } from '../../src/cpi/vm/reboot-vm.ts';
import { pods } from '../../src/kubernetes/resources.ts';
import { until } from '../support/until.ts';
import { upstreamAgent, withoutUpstreamAgent } from '../support/upstream-programs.ts';
import { withoutNodes } from './test-cluster.ts';
import type { ClusterWorld } from './support/cluster-world.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { fixedAddress } from './support/fixed-address.ts';
import { HelloDeployment, ownDeployer } from './support/hello-deployment.ts';
import { queryNameServers, rightNameServers } from './support/name-servers.ts';
import { type StockInit, stockInits } from './support/stock-files.ts';

const agents = [
  { agent: 'our agent', upstream: undefined, skip: false as const },
  { agent: 'the upstream agent', upstream: upstreamAgent(), skip: withoutUpstreamAgent() },
];
const runs = agents.flatMap((by) => stockInits.map((init) => ({ ...by, init })));

/** The comm of PID 1. */
const firstProcess: Readonly<Record<StockInit, string>> = { systemd: 'systemd', runit: 'runsvdir' };

describeCluster('stemcells that look like stock ones, privileged', (world) => {
  for (const [number, { agent, upstream, skip, init }] of runs.entries()) {
    test(
      `${init}, ${agent}: its own init is PID 1; the disk is back before the agent after a reboot; a larger disk, delete-env`,
      { ...withoutNodes, ...(skip !== false && { skip }), timeout: 900_000 },
      async () => {
        const { cluster, namespace } = world();
        const { name: node = '' } = cluster.nodes[number % cluster.nodes.length] ?? {};
        const { archive, image } = await cluster.stockStemcell({ init, upstream, node });
        const deployment = await HelloDeployment.open({
          ...{ address: fixedAddress(world(), 'stock', number), namespace, profile: 'privileged', node },
          ...{ attach: 'hot', diskProperties: world().diskProperties('loop'), deployer: ownDeployer },
          ...{ stemcellArchive: archive, kubeconfig: cluster.kubeconfig },
          kubeletRootDirectory: cluster.kubeletRootDirectory,
        });
        const settings = { diskSize: 64, audience: 'operators' };
        await deployment.createEnv(settings);
        const greeting = await deployment.greeting();
        const vm = await onlyVm(world(), image);
        await isStock(world(), vm, init);
        await world().inVm(vm, leaveJob);

        await rebootVm(world().cloud, { vmCid: vm });
        await until('the job to answer', () => deployment.greeting().catch(isNotUpYet));
        assert.equal(await deployment.greeting(), greeting, 'the job began on an empty store');
        await isStock(world(), vm, init);
        assert.equal(await world().inVm(vm, 'cat /var/vcap/store/asked'), 'to end\n');

        await deployment.createEnv({ ...settings, diskSize: 128 });
        assert.equal(await deployment.greeting(), greeting);
        await deployment.deleteEnv(settings);
        await deployment.close();
      },
    );
  }
});

async function onlyVm({ api, namespace }: ClusterWorld, image: string): Promise<string> {
  const { items } = await api.list(pods, { namespace, labelSelector: `${label.kind}=vm` });
  assert.equal(items.length, 1, `VMs of ${image}`);
  return items[0]?.metadata.name ?? '';
}

async function isStock(world: ClusterWorld, vm: string, init: StockInit): Promise<void> {
  assert.equal(await world.inVm(vm, 'cat /proc/1/comm'), `${firstProcess[init]}\n`);
  await world.untilInVm(vm, 'pidof sshd && pidof cron');
  // The command that the agent finds with its PATH.
  const agentsMount = `pid=$(pidof bosh-agent | cut -d " " -f 1)
PATH=$(tr "\\0" "\\n" < /proc/$pid/environ | sed -n s/^PATH=//p)
for name in mount umount; do readlink -f "$(command -v $name)"; done`;
  const shims = '/var/lib/bosh-kubernetes/shims';
  assert.equal(await world.inVm(vm, agentsMount), `${shims}/mount\n${shims}/umount\n`);
  if (init === 'systemd') {
    assert.equal(await world.inVm(vm, queryNameServers), rightNameServers);
    const nodesOwn =
      'systemctl is-active systemd-udevd.service systemd-sysctl.service getty@tty1.service; true';
    assert.equal(await world.inVm(vm, nodesOwn), 'inactive\n'.repeat(3));
    return;
  }
  // The pod's name servers, in a file that can be replaced by a rename.
  const nameServers = `grep ^nameserver /etc/resolv.conf
grep " $(readlink -f /etc/resolv.conf) " /proc/self/mountinfo; true`;
  assert.match(await world.inVm(vm, nameServers), /^(nameserver \S+\n)+$/u);
}

/** A job that the agent does not know: only PID 1 sends it SIGTERM, and it then writes to its disk. */
const leaveJob = `setsid sh -c '
  trap "echo to end >> /var/vcap/store/asked; exit" TERM
  : > /tmp/waits
  while :; do sleep 1 & wait "$!"; done' > /dev/null 2>&1 < /dev/null &
until [ -e /tmp/waits ]; do sleep 0.1; done`;

function isNotUpYet(error: unknown): undefined {
  // fetch(): the connection was refused, or ended with the container.
  if (error instanceof TypeError) return undefined;
  throw error;
}
