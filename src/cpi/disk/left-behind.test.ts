import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ApiError } from '../../kubernetes/client/api-error.ts';
import type { KubernetesApi } from '../../kubernetes/api.ts';
import type { KubernetesObject } from '../../kubernetes/object.ts';
import type { Pod } from '../../kubernetes/types/pod.ts';
import { nodes, persistentVolumeClaims, pods } from '../../kubernetes/resources.ts';
import type { PersistentVolumeClaim } from '../../kubernetes/types/storage.ts';
import type { CallContext } from '../call.ts';
import { nodeName } from '../testing/fake-node.ts';
import { volumeAttachmentKind } from '../testing/foreign-kinds.ts';
import { interceptingApi } from '../testing/intercepting-api.ts';
import {
  type TestCloud,
  createVmRequest,
  namespace,
  testCloud,
  vmCidOfTest as vmCid,
} from '../testing/test-cloud.ts';
import { createVm } from '../vm/create-vm.ts';
import { attachDisk } from './attach-disk.ts';
import { attachmentReference } from './attach/attachment-pod.ts';
import { volumeAttachments, waitUntilOnNoNode } from './attach/volume-attachments.ts';
import { createDisk } from './create-disk.ts';
import { deleteDisk } from './delete-disk.ts';
import { detachDisk } from './detach-disk.ts';
import { hasDisk } from './has-disk.ts';
import { resizeDisk } from './resize-disk.ts';

/** Makes a disk whose attachment pod was force-deleted, on a VM that goes on running. */
async function forsaken(t: TestContext): Promise<TestCloud & { disk: string }> {
  const deadlines = { release: 1, detach_disk: 1 };
  const made = await testCloud(t, { deadlines }, [volumeAttachmentKind]);
  const { cloud, api } = made;
  await createVm(cloud, createVmRequest());
  const disk = await createDisk(cloud, { sizeMiB: 64, cloudProperties: {}, vmCid });
  await attachDisk(cloud, { vmCid, diskCid: disk });
  await api.delete(attachmentReference(cloud, `attach-${disk}`), { gracePeriodSeconds: 0 });
  return { ...made, disk };
}

const unreachable = (cloud: CallContext): CallContext => ({
  ...cloud,
  exec: ({ command }) =>
    command[3] === 'is-mounted'
      ? Promise.resolve({ exitCode: 126, stdout: '', stderr: 'no shell' })
      : Promise.reject(new Error('nothing else is to be run')),
});

const forbidden = new ApiError({
  ...{ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code: 403 },
});

const ready = { type: 'Ready', status: 'True' };
const silent = {
  ...{ type: 'Ready', status: 'Unknown', lastTransitionTime: '2026-01-01T00:00:00Z' },
  ...{ reason: 'NodeStatusUnknown', message: 'stopped posting' },
};

async function nodeSays(api: KubernetesApi, condition: object): Promise<void> {
  await api.create(nodes, { metadata: { name: nodeName } });
  const status = { conditions: [condition] };
  await api.patch({ resource: nodes, name: nodeName }, { status }, { subresource: 'status' });
}

test('detach_disk does not call a disk detached while the VM runs and cannot be asked', async (t) => {
  const { cloud, api, disk } = await forsaken(t);
  await nodeSays(api, ready);
  await assert.rejects(detachDisk(unreachable(cloud), { vmCid, diskCid: disk }), {
    code: 'DISK_BUSY',
    message: /could not be checked for 1 s .*no shell/u,
  });
  await assert.rejects(detachDisk(cloud, { vmCid, diskCid: disk }), { code: 'DISK_NOT_ATTACHED' });
});

test('a role that may not look into the VM is told so, not that the disk is busy', async (t) => {
  const { cloud, disk } = await forsaken(t);
  const exec: CallContext['exec'] = () => Promise.reject(forbidden);
  await assert.rejects(detachDisk({ ...cloud, exec }, { vmCid, diskCid: disk }), forbidden);
});

test('on a lost node that is NODE_LOST; on one that was given up nothing is mounted any more', async (t) => {
  const { cloud, api, disk } = await forsaken(t);
  await nodeSays(api, silent);
  await assert.rejects(detachDisk(unreachable(cloud), { vmCid, diskCid: disk }), {
    code: 'NODE_LOST',
    message: /if it comes back, run the call again$/u,
  });
  await api.delete({ resource: nodes, name: nodeName });
  await assert.rejects(detachDisk(unreachable(cloud), { vmCid, diskCid: disk }), {
    code: 'DISK_NOT_ATTACHED',
  });
});

/** Gives the disk a volume, as its provisioner would. */
async function bind(api: KubernetesApi, disk: string, volumeName: string): Promise<PersistentVolumeClaim> {
  const reference = { resource: persistentVolumeClaims, namespace, name: disk };
  const claim = await api.get<PersistentVolumeClaim>(reference);
  const spec = { ...claim.spec, volumeName };
  return api.replace<PersistentVolumeClaim>(persistentVolumeClaims, { ...claim, spec });
}

/** Creates the VolumeAttachment of a volume that the driver has attached to the VM's node. */
const onNode = (api: KubernetesApi, name: string, persistentVolumeName: string): Promise<KubernetesObject> =>
  api.create(volumeAttachments, {
    ...{ apiVersion: 'storage.k8s.io/v1', kind: 'VolumeAttachment', metadata: { name } },
    ...{ spec: { nodeName, source: { persistentVolumeName } } },
  });

/** Returns a copy of the API, so that methods can be replaced. */
const sameApi = ({ api }: CallContext): KubernetesApi => interceptingApi(api, () => Promise.resolve());

/** Has the driver detach that volume from its node when a call waits for that. */
function takenWhileAwaited(cloud: CallContext, api: KubernetesApi, name: string): CallContext {
  const watch: KubernetesApi['watch'] = async function* watch(resource, query) {
    if (resource === volumeAttachments) await api.delete({ resource: volumeAttachments, name });
    yield* cloud.api.watch(resource, query);
  };
  return { ...cloud, api: { ...sameApi(cloud), watch } };
}

const stillOnNode = (disk: string): { code: string; message: RegExp } => ({
  code: 'DEADLINE',
  message: new RegExp(`attachment of disk '${disk}' to node ${nodeName}`, 'u'),
});

for (const attach of ['hot', 'recreate']) {
  test(`${attach}: detach_disk is done when the driver has taken the disk from the node, where another node may have it`, async (t) => {
    const deadlines = { delete_vm: 10, detach_disk: 1 };
    const { cloud, api } = await testCloud(t, { kubernetes: { attach }, deadlines }, [volumeAttachmentKind]);
    await createVm(cloud, createVmRequest());
    const [disk, other] = [
      await createDisk(cloud, { sizeMiB: 64, cloudProperties: {}, vmCid }),
      await createDisk(cloud, { sizeMiB: 64, cloudProperties: {}, vmCid }),
    ];
    await bind(api, disk, 'pv-1');
    await bind(api, other, 'pv-2');
    for (const each of [disk, other]) await attachDisk(cloud, { vmCid, diskCid: each });
    await onNode(api, 'csi-1', 'pv-1');
    assert.equal(await detachDisk(cloud, { vmCid, diskCid: other }), null);
    await assert.rejects(detachDisk(cloud, { vmCid, diskCid: disk }), stillOnNode(disk));
    // a director that tries again does not know at which point the first call ended
    await assert.rejects(detachDisk(cloud, { vmCid, diskCid: disk }), stillOnNode(disk));
    assert.equal(await detachDisk(takenWhileAwaited(cloud, api, 'csi-1'), { vmCid, diskCid: disk }), null);
    assert.equal(await detachDisk(cloud, { vmCid, diskCid: disk }), null);
  });
}

test('why its driver does not take a disk from a node stands in the error: no event has it', async (t) => {
  const { cloud, api, disk } = await forsaken(t);
  await bind(api, disk, 'pv-1');
  const { metadata } = await onNode(api, 'csi-1', 'pv-1');
  const reference = { resource: volumeAttachments, name: metadata.name };
  const finalizers = ['external-attacher/driver-test'];
  for (const key of ['attachError', 'detachError']) {
    const status = { [key]: { message: `rpc error: ${key} of volume 7` } };
    await api.patch(reference, { metadata: { finalizers }, status });
    await assert.rejects(deleteDisk(cloud, { diskCid: disk }), {
      message: new RegExp(
        `its driver reported: rpc error: ${key} of volume 7; check that the attacher of its driver runs`,
        'u',
      ),
    });
  }
});

const strangers = { code: 'DISK_NOT_ATTACHED', message: /; pod 'stranger' on its node has the disk/u };
for (const [where, node, change, outcome] of [
  ["on the VM's node", nodeName, {}, strangers],
  ["on the VM's node, but has ended", nodeName, { status: { phase: 'Succeeded' } }, { code: 'DEADLINE' }],
  ['on another node', 'other', {}, { code: 'DEADLINE' }],
] as const) {
  test(`detach_disk of a disk that was never on the VM, which a pod that is not ours has ${where}: ${outcome.code}`, async (t) => {
    const { cloud, api } = await testCloud(t, { deadlines: { detach_disk: 1 } }, [volumeAttachmentKind]);
    await createVm(cloud, createVmRequest());
    const disk = await createDisk(cloud, { sizeMiB: 64, cloudProperties: {}, vmCid });
    await bind(api, disk, 'pv-1');
    await onNode(api, 'csi-1', 'pv-1');
    await api.create<Pod>(pods, {
      ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'stranger', namespace } },
      spec: {
        nodeName: node,
        containers: [{ name: 'one', image: 'registry.example/one' }],
        volumes: [{ name: 'disk', persistentVolumeClaim: { claimName: disk } }],
      },
    });
    const list = (async (resource, query) => {
      const found = await cloud.api.list(resource, query);
      if (resource !== pods) return found;
      return { ...found, items: found.items.map((pod) => ({ ...pod, ...change })) };
    }) as KubernetesApi['list'];
    await assert.rejects(
      detachDisk({ ...cloud, api: { ...sameApi(cloud), list } }, { vmCid, diskCid: disk }),
      outcome,
    );
  });
}

test('a disk that its driver still has on a node is neither deleted nor changed', async (t) => {
  const { cloud, api, disk } = await forsaken(t);
  const { spec } = await bind(api, disk, 'pv-1');
  await onNode(api, 'csi-1', 'pv-1');
  await onNode(api, 'csi-2', 'pv-2');
  const refused = stillOnNode(disk);
  await assert.rejects(deleteDisk(cloud, { diskCid: disk }), refused);
  await assert.rejects(resizeDisk(cloud, { diskCid: disk, sizeMiB: 128 }), refused);
  const reference = { resource: persistentVolumeClaims, namespace, name: disk };
  const after = await api.get<PersistentVolumeClaim>(reference);
  assert.deepEqual([after.metadata.deletionTimestamp, after.spec.resources], [undefined, spec.resources]);

  // manifests/rbac/cluster.yaml: without the right to list them no call waits
  const list: KubernetesApi['list'] = (resource, query) =>
    resource === volumeAttachments ? Promise.reject(forbidden) : cloud.api.list(resource, query);
  await waitUntilOnNoNode({ ...cloud, api: { ...sameApi(cloud), list } }, after);

  await api.delete({ resource: volumeAttachments, name: 'csi-1' });
  await deleteDisk(cloud, { diskCid: disk });
  assert.equal(await hasDisk(cloud, { diskCid: disk }), false);
});
