import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Pod } from '../../kubernetes/types/pod.ts';
import { persistentVolumeClaims, pods, secrets } from '../../kubernetes/resources.ts';
import type { PersistentVolumeClaim } from '../../kubernetes/types/storage.ts';
import type { CallContext } from '../call.ts';
import { label } from '../objects/labels.ts';
import { atRequest, interceptingApi } from '../testing/intercepting-api.ts';
import { rejection } from '../testing/rejection.ts';
import {
  type TestCloud,
  createVmRequest,
  namespace,
  testCloud,
  vmCidOfTest as hot,
} from '../testing/test-cloud.ts';
import { createVm } from '../vm/create-vm.ts';
import { attachDisk } from './attach-disk.ts';
import { createDisk } from './create-disk.ts';
import { deleteDisk } from './delete-disk.ts';
import { getDisks } from './get-disks.ts';
import { resizeDisk } from './resize-disk.ts';
import { updateDisk } from './update-disk.ts';

const otherAgent = '2b3c4d5e-0000-4000-8000-000000000002';
const recreated = `vm-${otherAgent}`;

/** Makes a VM of each strategy, as `auto` can do in one namespace, and a disk. */
async function twoVms(t: TestContext): Promise<TestCloud & { disk: string }> {
  const made = await testCloud(t, { deadlines: { release: 1, detach_disk: 2, delete_disk: 5 } });
  const { cloud } = made;
  const { kubernetes } = cloud.config;
  await createVm(cloud, createVmRequest());
  await createVm(
    { ...cloud, config: { ...cloud.config, kubernetes: { ...kubernetes, attach: 'recreate' } } },
    createVmRequest({ agentId: otherAgent, networks: { default: { type: 'dynamic' } } }),
  );
  return { ...made, disk: await createDisk(cloud, { sizeMiB: 64, cloudProperties: {} }) };
}

const meanwhile = (cloud: CallContext, request: string, action: () => Promise<unknown>): CallContext => ({
  ...cloud,
  api: interceptingApi(
    cloud.api,
    atRequest(request, async () => void (await action())),
  ),
});

const disksOfBoth = async (cloud: CallContext): Promise<string[][]> => [
  await getDisks(cloud, { vmCid: hot }),
  await getDisks(cloud, { vmCid: recreated }),
];

test('a disk that a VM of the other strategy was given before the attachment is there is refused, and stays there', async (t) => {
  const { cloud, api, disk } = await twoVms(t);
  const attach = (): Promise<string> => attachDisk(cloud, { vmCid: recreated, diskCid: disk });

  await assert.rejects(
    attachDisk(meanwhile(cloud, `create pods attach-${disk}`, attach), { vmCid: hot, diskCid: disk }),
    rejection('DISK_ATTACHED_ELSEWHERE', new RegExp(recreated, 'u')),
  );

  assert.deepEqual(await disksOfBoth(cloud), [[], [disk]]);
  const { items } = await api.list<Pod>(pods, { namespace });
  assert.deepEqual(
    items.filter(({ metadata }) => metadata.name.startsWith('attach-')),
    [],
  );
});

test('the same the other way round: the lock is taken back', async (t) => {
  const { cloud, api, disk } = await twoVms(t);
  const attach = (): Promise<string> => attachDisk(cloud, { vmCid: hot, diskCid: disk });

  await assert.rejects(
    attachDisk(meanwhile(cloud, `patch persistentvolumeclaims ${disk}`, attach), {
      vmCid: recreated,
      diskCid: disk,
    }),
    rejection('DISK_ATTACHED_ELSEWHERE', new RegExp(hot, 'u')),
  );

  assert.deepEqual(await disksOfBoth(cloud), [[disk], []]);
  const { metadata } = await api.get<PersistentVolumeClaim>({
    ...{ resource: persistentVolumeClaims, namespace, name: disk },
  });
  assert.equal(metadata.labels?.[label.vmId], undefined);
});

for (const [vm, request] of [
  [hot, 'create pods attach-'],
  [recreated, 'patch secrets '],
] as const) {
  test(`delete_disk beside attach_disk to ${vm === hot ? 'hot' : 'recreate'}: one of them has it`, async (t) => {
    const { cloud, disk } = await twoVms(t);
    const attach = (): Promise<string> => attachDisk(cloud, { vmCid: vm, diskCid: disk });

    await assert.rejects(
      deleteDisk(meanwhile(cloud, `delete persistentvolumeclaims ${disk}`, attach), { diskCid: disk }),
      rejection('DISK_BUSY', /is attached to VM/u),
    );

    assert.equal((await disksOfBoth(cloud)).flat().join(), disk);
    const other = await createDisk(cloud, { sizeMiB: 64, cloudProperties: {} });
    const gone = (): Promise<null> => deleteDisk(cloud, { diskCid: other });
    await assert.rejects(
      attachDisk(
        meanwhile(cloud, request === 'patch secrets ' ? `${request}${vm}` : `${request}${other}`, gone),
        { vmCid: vm, diskCid: other },
      ),
    );
    assert.equal((await disksOfBoth(cloud)).flat().join(), disk);
  });
}

for (const [what, change] of Object.entries({
  delete_disk: (cloud: CallContext, disk: string) => deleteDisk(cloud, { diskCid: disk }),
  resize_disk: (cloud: CallContext, disk: string) => resizeDisk(cloud, { diskCid: disk, sizeMiB: 128 }),
  update_disk: (cloud: CallContext, disk: string) =>
    updateDisk(cloud, { diskCid: disk, sizeMiB: 64, cloudProperties: {} }),
})) {
  test(`${what} ends the attachment of a VM that is no more`, async (t) => {
    const { cloud, api, node, disk } = await twoVms(t);
    await attachDisk(cloud, { vmCid: hot, diskCid: disk });
    node.busyDisks.add(disk);
    await assert.rejects(change(cloud, disk), rejection('DISK_BUSY'));
    // an operator deletes the VM, and removes its reference from BOSH's database
    await api.delete({ resource: pods, namespace, name: hot }, { gracePeriodSeconds: 0 });
    await api.delete({ resource: secrets, namespace, name: hot });

    await change(cloud, disk).catch((error: unknown) => {
      // no disk is bound here
      assert.ok(what !== 'delete_disk');
      rejection('NOT_SUPPORTED')(error);
    });

    const { items } = await api.list<Pod>(pods, { namespace });
    assert.deepEqual(
      items.filter(({ metadata }) => metadata.name === `attach-${disk}`),
      [],
    );
  });
}
