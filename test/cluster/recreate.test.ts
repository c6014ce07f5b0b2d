import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { attachDisk } from '../../src/cpi/disk/attach-disk.ts';
import { detachDisk } from '../../src/cpi/disk/detach-disk.ts';
import { getDisks } from '../../src/cpi/disk/get-disks.ts';
import { label } from '../../src/cpi/labels.ts';
import { deleteVm } from '../../src/cpi/vm/delete-vm.ts';
import type { Profile } from '../../src/cpi/vm/profile.ts';
import { namespaces } from '../../src/kubernetes/resources.ts';
import { assertWhole } from './support/assert-whole.ts';
import { type AgentVm, newAgentVm, untilAnswers } from './support/agent-vm.ts';
import type { ClusterWorld } from './support/cluster-world.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { fixedAddress, withoutAddresses } from './support/fixed-address.ts';
import { withoutStemcell } from './support/open-cluster.ts';

describeCluster('strategies of attaching on real kubelets', (world) => {
  const skip = withoutAddresses();

  test(
    'recreate: two disks come and go by new pods, with cid, agent id, address and data as before',
    { skip },
    () =>
      comesAndGoes(world(), { attach: 'recreate', number: 0, profile: 'privileged', podsBeforeTheEnd: 5 }),
  );

  test('auto where attachments are admitted: the same, hot', { skip }, () =>
    comesAndGoes(world(), { attach: 'auto', number: 1, profile: 'privileged', podsBeforeTheEnd: 1 }),
  );

  test(
    'auto where Pod Security baseline refuses attachments: the same, by new pods',
    { skip: skip || withoutStemcell('baseline') },
    async () => {
      const enforce = (level: string | null): Promise<unknown> => {
        const labels = { 'pod-security.kubernetes.io/enforce': level };
        return world().api.patch({ resource: namespaces, name: world().namespace }, { metadata: { labels } });
      };
      await enforce('baseline');
      try {
        const disks = await comeAndGo(world(), {
          ...{ attach: 'auto', number: 2, profile: 'baseline', podsBeforeTheEnd: 5 },
        });
        await enforce(null);
        await assertWhole(world(), disks);
      } finally {
        await enforce(null);
      }
    },
  );
});

interface Life {
  /** `kubernetes.attach`. */
  readonly attach: 'recreate' | 'auto';
  /** Of its fixed address. */
  readonly number: number;
  readonly profile: Profile;
  /** How many pods the VM has had when both disks are detached. */
  readonly podsBeforeTheEnd: number;
}

async function comesAndGoes(world: ClusterWorld, life: Life): Promise<void> {
  await assertWhole(world, await comeAndGo(world, life));
}

/** Two disks are attached to a VM with an agent, filled, and detached again; resolves with them. */
async function comeAndGo(
  world: ClusterWorld,
  { attach, number, profile, podsBeforeTheEnd }: Life,
): Promise<readonly string[]> {
  const cloud = world.cloudWith({ attach });
  const [agentId, address] = [randomUUID(), fixedAddress(world, 'recreate', number)];
  const { image } = await world.cluster.stemcellFor(profile);
  const vm = await newAgentVm(world, address, { cloud, image, agentId, properties: { profile } });
  const seen = new Set<string>();
  const disks: string[] = [];
  const look = async (attached: readonly string[]): Promise<void> => {
    await untilAnswers(vm);
    const { metadata, status } = await world.pod(vm.cid);
    seen.add(metadata.uid ?? '');
    assert.equal(metadata.labels?.[label.agentId], agentId);
    assert.equal(status?.podIP, address);
    assert.deepEqual((await getDisks(cloud, [vm.cid])).toSorted(), attached.toSorted());
    assert.deepEqual(((await vm.client.value('list_disk')) as string[]).toSorted(), attached.toSorted());
    for (const disk of attached)
      assert.equal(await world.inVm(vm.cid, `cat /warden-cpi-dev/disks/${disk}/store/canary`), `${disk}\n`);
  };
  await look([]);
  for (const storageClass of ['loop', 'loop-wait'] as const) {
    const disk = await world.newDisk(storageClass);
    await attachAndFill(world, { cloud, vm, disk });
    disks.push(disk);
    await look(disks);
  }
  // the last first: an agent that starts again mounts the disk that it had at its store, and that is the first
  for (const disk of disks.toReversed()) {
    await vm.client.task('unmount_disk', disk);
    await vm.client.task('remove_persistent_disk', disk);
    await detachDisk(cloud, [vm.cid, disk]);
    await look(disks.slice(0, disks.indexOf(disk)));
  }
  assert.equal(seen.size, podsBeforeTheEnd, 'a pod for each change of the disks, or one for all');
  await deleteVm(cloud, [vm.cid]);
  return disks;
}

async function attachAndFill(
  world: ClusterWorld,
  { cloud, vm, disk }: { readonly cloud: ClusterWorld['cloud']; readonly vm: AgentVm; readonly disk: string },
): Promise<void> {
  const hint = await attachDisk(cloud, [vm.cid, disk]);
  await untilAnswers(vm);
  await vm.client.task('add_persistent_disk', disk, { path: hint });
  await vm.client.task('mount_disk', disk);
  await world.inVm(vm.cid, `cd ${hint} && echo ${disk} > canary && seq 100 > log && sync -f .`);
}
