import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, PodStatus } from '../kubernetes/types/pod.ts';
import { pods } from '../kubernetes/resources.ts';
import { attachDisk } from './disk/attach-disk.ts';
import { createDisk } from './disk/create-disk.ts';
import { getDisks } from './disk/get-disks.ts';
import { rejection } from './testing/rejection.ts';
import { createVmRequest, namespace, testCloud, vmCidOfTest as vmCid } from './testing/test-cloud.ts';
import { createVm } from './vm/create-vm.ts';
import { deleteVm } from './vm/delete-vm.ts';
import { hasVm } from './vm/has-vm.ts';
import { rebootVm } from './vm/reboot-vm.ts';

/**
 * The status that a kubelet with shutdownGracePeriod writes (kubernetes: pkg/kubelet/nodeshutdown). After the
 * reboot it starts none of these pods.
 */
const shutDown: PodStatus = {
  ...{ phase: 'Failed', reason: 'Terminated' },
  message: 'Pod was terminated in response to imminent node shutdown.',
};

test('a node that was shut down gracefully: the VM is there and does not run; what a resurrector does brings it and its disk back', async (t) => {
  const { cloud, api } = await testCloud(t);
  await createVm(cloud, createVmRequest());
  const disk = await createDisk(cloud, { sizeMiB: 64, cloudProperties: {}, vmCid });
  await attachDisk(cloud, { vmCid, diskCid: disk });
  for (const name of [vmCid, `attach-${disk}`]) {
    const reference = { resource: pods, namespace, name };
    const { status } = await api.get<Pod>(reference);
    const containerStatuses = (status?.containerStatuses ?? []).map((container) => ({
      ...{ ...container, ready: false, state: { terminated: { exitCode: 137, reason: 'Error' } } },
    }));
    await api.patch(reference, { status: { ...shutDown, containerStatuses } }, { subresource: 'status' });
  }

  assert.equal(await hasVm(cloud, { vmCid }), true);
  await assert.rejects(
    rebootVm(cloud, { vmCid }),
    rejection('VM_NOT_REBOOTED', /ended and will not start again \(Failed: Terminated Pod was terminated/u),
  );
  await deleteVm(cloud, { vmCid });
  assert.equal(await hasVm(cloud, { vmCid }), false);
  const [next] = await createVm(cloud, createVmRequest({ agentId: 'next' }));
  await attachDisk(cloud, { vmCid: next, diskCid: disk });
  assert.deepEqual(await getDisks(cloud, { vmCid: next }), [disk]);
});
