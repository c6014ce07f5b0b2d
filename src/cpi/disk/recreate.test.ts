import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../kubernetes/types/pod.ts';
import { nodes, persistentVolumeClaims, pods } from '../../kubernetes/resources.ts';
import { type PersistentVolumeClaim, volumeAnnotations } from '../../kubernetes/types/storage.ts';
import type { CallContext } from '../call.ts';
import { annotation, label } from '../objects/labels.ts';
import { nodeName } from '../testing/fake-node.ts';
import {
  createVmRequest,
  namesLeft,
  namespace,
  testCloud,
  vmCidOfTest as vmCid,
} from '../testing/test-cloud.ts';
import { agentSocketExit } from '../vm/scripts/agent-socket.ts';
import { createVm } from '../vm/create-vm.ts';
import { deleteVm } from '../vm/delete-vm.ts';
import { rebootVm } from '../vm/reboot-vm.ts';
import { setVmMetadata } from '../vm/set-vm-metadata.ts';
import { attachDisk } from './attach-disk.ts';
import { createDisk } from './create-disk.ts';
import { deleteDisk } from './delete-disk.ts';
import { detachDisk } from './detach-disk.ts';
import { getDisks } from './get-disks.ts';
import { interceptingApi } from '../testing/intercepting-api.ts';
import { Crash, crashingApi } from '../testing/crashing-api.ts';
import { rejection } from '../testing/rejection.ts';
import { recordedDiskCids } from '../vm/recorded-pod.ts';

const recreate = { kubernetes: { attach: 'recreate' } };
const hintOf = (disk: string): string => `/warden-cpi-dev/disks/${disk}/store`;
const podOf = ({ api }: CallContext, name = vmCid): Promise<Pod> =>
  api.get({ resource: pods, namespace, name });

const newDisk = (cloud: CallContext): Promise<string> =>
  createDisk(cloud, { sizeMiB: 64, cloudProperties: {}, vmCid });

test('a VM of recreate keeps its state and data on claims that go with it', async (t) => {
  const { cloud, api } = await testCloud(t, recreate);
  const wished = createVmRequest({ properties: { ephemeral_disk: { size: 77 } } });
  await createVm(cloud, wished);
  const { spec } = await podOf(cloud);
  assert.equal(
    spec.volumes?.find(({ name }) => name === 'state')?.persistentVolumeClaim?.claimName,
    `${vmCid}-state`,
  );
  assert.equal(
    spec.volumes?.find(({ name }) => name === 'data')?.persistentVolumeClaim?.claimName,
    `${vmCid}-data`,
  );
  assert.equal(
    spec.volumes?.some(({ emptyDir, hostPath }) => (emptyDir ?? hostPath) !== undefined),
    false,
  );
  const data = { resource: persistentVolumeClaims, namespace, name: `${vmCid}-data` };
  const claim = await api.get<PersistentVolumeClaim>(data);
  assert.equal(claim.spec.resources?.requests?.['storage'], '77Mi');
  const made = await namesLeft(api);
  await createVm(cloud, wished);
  assert.deepEqual(await namesLeft(api), made);

  await deleteVm(cloud, { vmCid });
  assert.deepEqual(await namesLeft(api), []);
});

test('attach and detach make the pod anew, through the scheduler, with its address and metadata', async (t) => {
  const { cloud } = await testCloud(t, recreate);
  await createVm(cloud, createVmRequest());
  await setVmMetadata(cloud, { vmCid, metadata: { deployment: 'd', index: 0 } });
  const before = await podOf(cloud);
  const disks = [await newDisk(cloud), await newDisk(cloud)];
  for (const disk of disks) {
    assert.equal(await attachDisk(cloud, { vmCid, diskCid: disk }), hintOf(disk));
    const { uid } = (await podOf(cloud)).metadata;
    assert.equal(await attachDisk(cloud, { vmCid, diskCid: disk }), hintOf(disk));
    assert.equal((await podOf(cloud)).metadata.uid, uid);
  }
  assert.deepEqual(await getDisks(cloud, { vmCid }), disks);
  for (const name of disks) {
    const claim = await cloud.api.get({ resource: persistentVolumeClaims, namespace, name });
    assert.equal(
      claim.metadata.annotations?.[volumeAnnotations.selectedNode],
      nodeName,
      'no scheduler saw it',
    );
  }
  const after = await podOf(cloud);
  assert.notEqual(after.metadata.uid, before.metadata.uid);
  assert.deepEqual(after.metadata.labels, before.metadata.labels);
  // an attach_disk that finds its pod writes this annotation, so that a slow call of another process does not
  // delete the pod
  const { [annotation.changedBy]: kept, ...annotations } = after.metadata.annotations ?? {};
  assert.notEqual(kept, undefined);
  assert.deepEqual(annotations, before.metadata.annotations);
  assert.equal(after.status?.podIP, before.status?.podIP);
  assert.deepEqual(
    after.spec.containers[0]?.volumeMounts?.filter(({ name }) => disks.includes(name)),
    disks.map((disk) => ({ name: disk, mountPath: `/warden-cpi-dev/disks/${disk}` })),
  );

  for (const disk of disks) await detachDisk(cloud, { vmCid, diskCid: disk });
  assert.deepEqual(await getDisks(cloud, { vmCid }), []);
  assert.deepEqual((await podOf(cloud)).spec, before.spec);
  assert.deepEqual((await podOf(cloud)).metadata.annotations, before.metadata.annotations);
});

test('a disk that was detached from this VM last is detached; one that never was on it is DISK_NOT_ATTACHED', async (t) => {
  const { cloud } = await testCloud(t, recreate);
  await createVm(cloud, createVmRequest());
  const networks = { default: { type: 'dynamic' } };
  const [other] = await createVm(cloud, createVmRequest({ agentId: 'other', networks }));
  const disk = await newDisk(cloud);
  const notAttached = rejection('DISK_NOT_ATTACHED');
  await assert.rejects(detachDisk(cloud, { vmCid, diskCid: disk }), notAttached);
  await attachDisk(cloud, { vmCid, diskCid: disk });
  await detachDisk(cloud, { vmCid, diskCid: disk });

  assert.equal(await detachDisk(cloud, { vmCid, diskCid: disk }), null);
  assert.equal(await detachDisk(cloud, { vmCid, diskCid: disk }), null);
  await assert.rejects(detachDisk(cloud, { vmCid: other, diskCid: disk }), notAttached);

  await attachDisk(cloud, { vmCid: other, diskCid: disk });
  await assert.rejects(detachDisk(cloud, { vmCid, diskCid: disk }), notAttached);
  await detachDisk(cloud, { vmCid: other, diskCid: disk });
  await assert.rejects(detachDisk(cloud, { vmCid, diskCid: disk }), notAttached);

  // another VM of the same name
  await deleteVm(cloud, { vmCid: other });
  await createVm(cloud, createVmRequest({ agentId: 'other', networks }));
  await assert.rejects(detachDisk(cloud, { vmCid: other, diskCid: disk }), notAttached);
});

test('a disk whose attach_disk failed was not detached', async (t) => {
  const { cloud, node } = await testCloud(t, recreate);
  await createVm(cloud, createVmRequest());
  const disk = await newDisk(cloud);
  node.brokenDisks.set(disk, 'disk cannot be written');
  await assert.rejects(attachDisk(cloud, { vmCid, diskCid: disk }), rejection('DISK_NOT_ATTACHABLE'));
  await assert.rejects(detachDisk(cloud, { vmCid, diskCid: disk }), rejection('DISK_NOT_ATTACHED'));
});

for (const [name, next] of Object.entries({
  attach_disk: (cloud: CallContext, disk: string) => attachDisk(cloud, { vmCid, diskCid: disk }),
  detach_disk: (cloud: CallContext, disk: string) => detachDisk(cloud, { vmCid, diskCid: disk }),
  reboot_vm: (cloud: CallContext) => rebootVm(cloud, { vmCid }),
  delete_vm: (cloud: CallContext) => deleteVm(cloud, { vmCid }),
})) {
  test(`${name} after an attach_disk that was killed when its pod waited at its gate`, async (t) => {
    const { cloud, api } = await testCloud(t, recreate);
    await createVm(cloud, createVmRequest());
    const disk = await newDisk(cloud);
    // the lock, the record, the deletion of the previous pod, and the new one
    const dying = { ...cloud, api: crashingApi(api, 4, 'after') };
    await assert.rejects(attachDisk(dying, { vmCid, diskCid: disk }), (error) => error instanceof Crash);
    const { metadata, spec } = await podOf(cloud);
    assert.equal(spec.schedulingGates?.length, 1);
    assert.equal(spec.nodeName, undefined);

    await next(cloud, disk);

    if (name === 'delete_vm') {
      assert.deepEqual(await namesLeft(api), [`persistentvolumeclaims ${disk}`]);
      return;
    }
    const pod = await podOf(cloud);
    assert.equal(pod.status?.phase, 'Running');
    assert.equal(pod.spec.schedulingGates, undefined);
    assert.deepEqual(recordedDiskCids(pod), name === 'detach_disk' ? [] : [disk]);
    assert.equal(pod.metadata.uid === metadata.uid, name !== 'detach_disk');
  });
}

test('a gate that an admission webhook of the cluster added is left to it', async (t) => {
  const { cloud, api } = await testCloud(t, recreate);
  const queue = { name: 'example.com/queue' };
  const webhook = interceptingApi(api, () => Promise.resolve());
  const create: typeof webhook.create = (resource, object, ...more) => {
    const { spec } = object as unknown as Pod;
    if (resource !== pods) return webhook.create(resource, object, ...more);
    const schedulingGates = [queue, ...(spec.schedulingGates ?? [])];
    return webhook.create(resource, { ...object, spec: { ...spec, schedulingGates } }, ...more);
  };
  const creation = createVm({ ...cloud, api: { ...webhook, create } }, createVmRequest());
  const reference = { resource: pods, namespace, name: vmCid };
  for await (const { object } of api.watch<Pod>(pods)) {
    const { schedulingGates, nodeName: place } = (object as Pod).spec;
    assert.equal(place, undefined);
    if (schedulingGates?.length === 1) {
      assert.deepEqual(schedulingGates, [queue]);
      break;
    }
  }
  await api.patch(reference, { spec: { schedulingGates: [] } });
  await creation;
  assert.equal((await podOf(cloud)).status?.phase, 'Running');
});

test('detach_disk ends when the agent of the new pod can be spoken to, and the disk is free only then', async (t) => {
  const { cloud, api } = await testCloud(t, recreate);
  await createVm(cloud, createVmRequest());
  const disk = await newDisk(cloud);
  await attachDisk(cloud, { vmCid, diskCid: disk });
  const { uid } = (await podOf(cloud)).metadata;
  let looks = 0;
  const exec: CallContext['exec'] = async (command) => {
    if (command.command[3] !== 'agent-socket') return cloud.exec(command);
    looks += 1;
    assert.notEqual((await podOf(cloud)).metadata.uid, uid);
    const claim = await api.get({ resource: persistentVolumeClaims, namespace, name: disk });
    assert.equal(
      claim.metadata.labels?.[label.vmId],
      vmCid,
      'a call that is killed now is finished by the next',
    );
    return { exitCode: looks < 3 ? agentSocketExit.missing : agentSocketExit.there, stdout: '', stderr: '' };
  };
  await detachDisk({ ...cloud, exec }, { vmCid, diskCid: disk });
  assert.equal(looks, 3);
  const claim = await api.get({ resource: persistentVolumeClaims, namespace, name: disk });
  assert.equal(claim.metadata.labels?.[label.vmId], undefined);
});

test('a disk in use is not detached, and the VM goes on', async (t) => {
  const { cloud, node } = await testCloud(t, recreate);
  await createVm(cloud, createVmRequest());
  const disk = await newDisk(cloud);
  await attachDisk(cloud, { vmCid, diskCid: disk });
  const { uid } = (await podOf(cloud)).metadata;
  node.busyDisks.add(disk);
  await assert.rejects(
    detachDisk(cloud, { vmCid, diskCid: disk }),
    rejection('DISK_BUSY', /\/var\/vcap\/store/u),
  );
  assert.equal((await podOf(cloud)).metadata.uid, uid);
  assert.deepEqual(await getDisks(cloud, { vmCid }), [disk]);
  node.busyDisks.clear();
  await detachDisk(cloud, { vmCid, diskCid: disk });
});

test('a disk belongs to one VM; it is free when the VM is gone', async (t) => {
  const { cloud } = await testCloud(t, recreate);
  await createVm(cloud, createVmRequest());
  const [other] = await createVm(
    cloud,
    createVmRequest({ agentId: 'other', networks: { default: { type: 'dynamic' } } }),
  );
  const hot = {
    ...cloud,
    config: { ...cloud.config, kubernetes: { ...cloud.config.kubernetes, attach: 'hot' as const } },
  };
  const [hotVm] = await createVm(
    hot,
    createVmRequest({ agentId: 'hot', networks: { default: { type: 'dynamic' } } }),
  );
  const disk = await newDisk(cloud);
  await attachDisk(cloud, { vmCid, diskCid: disk });
  for (const vm of [other, hotVm]) {
    await assert.rejects(
      attachDisk(cloud, { vmCid: vm, diskCid: disk }),
      rejection('DISK_ATTACHED_ELSEWHERE', new RegExp(vmCid, 'u')),
    );
    await assert.rejects(detachDisk(cloud, { vmCid: vm, diskCid: disk }), rejection('DISK_NOT_ATTACHED'));
  }
  await assert.rejects(deleteDisk(cloud, { diskCid: disk }), rejection('DISK_BUSY', new RegExp(vmCid, 'u')));
  await deleteVm(cloud, { vmCid });
  assert.equal(await attachDisk(cloud, { vmCid: hotVm, diskCid: disk }), hintOf(disk));
  await assert.rejects(
    attachDisk(cloud, { vmCid: other, diskCid: disk }),
    rejection('DISK_ATTACHED_ELSEWHERE', /vm-hot/u),
  );
  await detachDisk(cloud, { vmCid: hotVm, diskCid: disk });
  assert.equal(await attachDisk(cloud, { vmCid: other, diskCid: disk }), hintOf(disk));
});

test('a pod that does not start with the disk: the VM gets its former pod back and the disk is free', async (t) => {
  const { cloud, api, node } = await testCloud(t, recreate);
  await createVm(cloud, createVmRequest());
  const [kept, far, broken] = [await newDisk(cloud), await newDisk(cloud), await newDisk(cloud)];
  await attachDisk(cloud, { vmCid, diskCid: kept });
  node.farDisks.add(far);
  node.brokenDisks.set(broken, 'disk cannot be written');
  for (const [disk, message] of [
    [far, /node affinity conflict/u],
    [broken, /cannot be written/u],
  ] as const) {
    await assert.rejects(
      attachDisk(cloud, { vmCid, diskCid: disk }),
      rejection('DISK_NOT_ATTACHABLE', message),
    );
    assert.deepEqual(await getDisks(cloud, { vmCid }), [kept]);
    assert.equal((await podOf(cloud)).status?.phase, 'Running');
    const claim = await api.get({ resource: persistentVolumeClaims, namespace, name: disk });
    assert.equal(claim.metadata.labels?.[label.vmId], undefined);
  }
});

test('on a node that is lost nothing is changed: the pod could not end', async (t) => {
  const { cloud, api } = await testCloud(t, recreate);
  await createVm(cloud, createVmRequest());
  const [kept, other] = [await newDisk(cloud), await newDisk(cloud)];
  await attachDisk(cloud, { vmCid, diskCid: kept });
  const before = await podOf(cloud);
  await api.create(nodes, { metadata: { name: nodeName } });
  const ready = { type: 'Ready', status: 'Unknown', lastTransitionTime: '2020-01-01T00:00:00Z' };
  await api.patch(
    { resource: nodes, name: nodeName },
    { status: { conditions: [ready] } },
    { subresource: 'status' },
  );

  const lost = rejection(
    'NODE_LOST',
    new RegExp(`kubectl taint nodes ${nodeName}`, 'u'),
    /if it comes back, run the call again$/u,
  );
  await assert.rejects(attachDisk(cloud, { vmCid, diskCid: other }), lost);
  await assert.rejects(detachDisk(cloud, { vmCid, diskCid: kept }), lost);
  assert.equal((await podOf(cloud)).metadata.resourceVersion, before.metadata.resourceVersion);
  assert.deepEqual(await getDisks(cloud, { vmCid }), [kept]);
  const claim = await api.get({ resource: persistentVolumeClaims, namespace, name: other });
  assert.equal(claim.metadata.labels?.[label.vmId], undefined);
  assert.equal(await attachDisk(cloud, { vmCid, diskCid: kept }), hintOf(kept));
});

test('two disks attached at the same time are both attached', async (t) => {
  const { cloud } = await testCloud(t, recreate);
  await createVm(cloud, createVmRequest());
  const disks = [await newDisk(cloud), await newDisk(cloud)];
  const hints = await Promise.all(disks.map((disk) => attachDisk(cloud, { vmCid, diskCid: disk })));
  assert.deepEqual(hints, disks.map(hintOf));
  assert.deepEqual((await getDisks(cloud, { vmCid })).toSorted(), disks.toSorted());
});

test('reboot_vm of a VM whose pod an attach left ended makes the pod that is recorded', async (t) => {
  const { cloud, api } = await testCloud(t, recreate);
  await createVm(cloud, createVmRequest());
  const disk = await newDisk(cloud);
  await attachDisk(cloud, { vmCid, diskCid: disk });
  const { uid } = (await podOf(cloud)).metadata;
  await api.delete({ resource: pods, namespace, name: vmCid }, { gracePeriodSeconds: 0 });
  assert.equal(await rebootVm(cloud, { vmCid }), null);
  assert.notEqual((await podOf(cloud)).metadata.uid, uid);
  assert.deepEqual(await getDisks(cloud, { vmCid }), [disk]);
});
