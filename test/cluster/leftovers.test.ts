import assert from 'node:assert/strict';
import { test } from 'node:test';
import { detachDisk } from '../../src/cpi/disk/detach-disk.ts';
import { deleteDisk } from '../../src/cpi/disk/delete-disk.ts';
import { deleteVm } from '../../src/cpi/vm/delete-vm.ts';
import { leftObjects } from '../support/left-objects.ts';
import { until } from '../support/until.ts';
import type { ClusterWorld } from './support/cluster-world.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { stopWriting, storeOf, createWritingVm } from './support/disk-setup.ts';
import { addedSince, tracesOf, type Traces } from './support/traces.ts';
import { testCluster, withoutNodes } from './test-cluster.ts';

/**
 * The kubelet searches once a minute for containers and logs of deleted pods, so the tests wait for this
 * together.
 */
const collectionMs = 300_000;

describeCluster(
  'leftovers of a VM',
  (world) => {
    const node = 'node-1';
    const traces = (): Promise<Traces> => tracesOf(testCluster(), testCluster().node(node), world().api);

    const ends: Readonly<Record<string, (vm: string, disk: string) => Promise<unknown>>> = {
      'the disk detached before': async (vm, disk) => {
        await stopWriting(world(), vm, storeOf(0));
        await detachDisk(world().cloud, { vmCid: vm, diskCid: disk });
        await deleteVm(world().cloud, { vmCid: vm });
      },
      'the disk attached and written to': (vm) => deleteVm(world().cloud, { vmCid: vm }),
    };
    for (const [number, [what, end]] of Object.entries(ends).entries()) {
      test(
        `delete_vm, ${what}: nothing is left in the API, on the node, in containerd or of its address`,
        withoutNodes,
        async () => {
          const before = await traces();
          const properties = { services: [{ name: `left-over-${number}`, ports: [{ port: 80 }] }] };
          const { vm, disks } = await createWritingVm(world(), ['loop'], { properties, node });
          const [disk = ''] = disks;
          const during = await traces();
          for (const kind of before.keys()) {
            const seen = addedSince(before, during).filter((trace) => trace.startsWith(`${kind}: `));
            assert.notDeepEqual(seen, [], `a VM that runs shows nothing under ${kind}`);
          }
          await end(vm, disk);
          await deleteDisk(world().cloud, { diskCid: disk });
          await untilNoObjects(world());
          await untilNothingAdded(before, traces);
        },
      );
    }
  },
  { concurrency: 2 },
);

async function untilNoObjects({ api, namespace }: ClusterWorld): Promise<void> {
  await until('the objects to go', async () => (await leftObjects(api, namespace)).length === 0);
}

async function untilNothingAdded(before: Traces, traces: () => Promise<Traces>): Promise<void> {
  let remaining: string[] = [];
  try {
    await until(
      'the traces to go',
      async () => {
        remaining = addedSince(before, await traces());
        return remaining.length === 0;
      },
      collectionMs,
      // Poll rarely, because the kubelet collects this once a minute and each poll starts a dozen processes.
      3000,
    );
  } catch (error) {
    assert.deepEqual(remaining, [], String(error));
  }
}
