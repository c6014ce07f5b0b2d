import assert from 'node:assert/strict';
import { test } from 'node:test';
import { label } from '../../cpi/objects/labels.ts';
import {
  createVmRequest,
  namesLeft,
  namespace,
  testCloud,
  vmCidOfTest,
} from '../../cpi/testing/test-cloud.ts';
import { createVm } from '../../cpi/vm/create-vm.ts';
import { findVm } from '../../cpi/vm/vms.ts';
import { podReference } from '../../cpi/objects/names.ts';
import { pods } from '../../kubernetes/resources.ts';
import type { Pod } from '../../kubernetes/types/pod.ts';
import { doctorUuid, removeTrials } from './trial-call.ts';

/** Creates a pod with the doctor's label, as every user who may create pods can. */
const forge = (name: string, kind: string): Pod => ({
  metadata: {
    ...{ name, namespace },
    labels: {
      ...{ [label.kind]: kind, [label.layout]: '1', [label.directorId]: doctorUuid },
      ...{ [label.vmId]: vmCidOfTest, [label.diskId]: 'disk-forged' },
    },
  },
  spec: { containers: [{ name: 'vm', image: 'registry.example/image' }] },
});

for (const owner of ['director-1', undefined])
  test(`a pod with the doctor's label makes it delete no VM of ${owner ?? 'an unknown director'}`, async (t) => {
    const { cloud, api } = await testCloud(t);
    await createVm({ ...cloud, directorUuid: owner }, createVmRequest());
    const before = await namesLeft(api);
    await api.create(pods, forge('attach-disk-forged', 'attachment'));
    await removeTrials({ ...cloud, directorUuid: doctorUuid });
    assert.deepEqual(await namesLeft(api), before);

    // The VM's pod was deleted, and a forged one has its name.
    await api.delete(podReference(cloud, vmCidOfTest), { gracePeriodSeconds: 0 });
    await api.create(pods, forge(vmCidOfTest, 'vm'));
    await removeTrials({ ...cloud, directorUuid: doctorUuid });
    assert.deepEqual(await namesLeft(api), before);
    assert.ok((await findVm(cloud, vmCidOfTest)) !== undefined);
  });
