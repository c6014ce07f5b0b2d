import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../kubernetes/api-error.ts';
import type { KubernetesApi } from '../../kubernetes/api.ts';
import type { KubernetesObject } from '../../kubernetes/object.ts';
import { events, pods } from '../../kubernetes/resources.ts';
import { interceptingApi } from '../testing/intercepting-api.ts';
import { rejection } from '../testing/rejection.ts';
import { createVmArguments, namesLeft, namespace, testCloud, vmCidOfTest } from '../testing/test-cloud.ts';
import { createVm } from './create-vm.ts';
import { vmContainer } from '../own-containers.ts';

const vmPod = { resource: pods, namespace, name: vmCidOfTest };
const failed = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' } as const;
const runningStatus = {
  phase: 'Running',
  podIP: '127.64.0.10',
  podIPs: [{ ip: '127.64.0.10' }],
  containerStatuses: [
    {
      ...{ name: vmContainer, image: 'i', imageID: '', restartCount: 0, ready: true, started: true },
      state: { running: { startedAt: '2026-01-01T00:00:00Z' } },
    },
  ],
};

test('a sandbox that cannot be made: to be retried, with the event, nothing left', async (t) => {
  const { cloud, api, node } = await testCloud(t);
  node.sandboxTrouble = 'address 127.64.0.10 is in use';
  await assert.rejects(
    createVm(cloud, createVmArguments()),
    rejection(
      'VM_CREATION_FAILED_RETRY',
      /FailedCreatePodSandBox: address 127\.64\.0\.10 is in use/u,
      /asks for the address 127\.64\.0\.10: see whether a subnet or pool .*holds that \(static_ips of the manifest\)/u,
    ),
  );
  assert.deepEqual(await namesLeft(api), []);
});

test('a sandbox that was made at a second try: its event ends no VM whose image is being pulled', async (t) => {
  const { cloud, api, node } = await testCloud(t);
  node.sandboxTrouble = 'address 127.64.0.10 is in use';
  node.isPulling = true;
  let looks = 0;
  const pulled = async (request: string): Promise<void> => {
    if (request !== `get pods ${vmCidOfTest}`) return;
    looks += 1;
    // by now the event has been read for longer than a sandbox may take
    if (looks === 4) await api.patch(vmPod, { status: runningStatus }, { subresource: 'status' });
  };
  const [cid] = await createVm({ ...cloud, api: interceptingApi(api, pulled) }, createVmArguments());
  assert.equal(cid, vmCidOfTest);
  assert.ok(looks >= 4, String(looks));
});

test("an image that is still being pulled at the deadline: to be retried, with the pod's state and events, nothing left", async (t) => {
  const { cloud, api, node } = await testCloud(t, { deadlines: { create_vm: 1 } });
  node.sandboxTrouble = 'address 127.64.0.10 is in use';
  node.isPulling = true;
  await assert.rejects(
    createVm(cloud, createVmArguments()),
    rejection(
      'VM_CREATION_FAILED_RETRY',
      /waited 1 s for container bosh of pod vm-\S+ to run; last known: phase Pending, container bosh ContainerCreating; events: FailedCreatePodSandBox: address 127\.64\.0\.10 is in use; look at its events/u,
    ),
  );
  assert.deepEqual(await namesLeft(api), []);
});

test('events of a former pod of its name, and events that cannot be asked, end no VM', async (t) => {
  const { cloud, api, node } = await testCloud(t);
  node.isPulling = true;
  const vm = { apiVersion: 'v1', kind: 'Pod', namespace, name: vmCidOfTest, uid: 'of-a-former-pod' };
  const event = { metadata: { name: 'former', namespace }, involvedObject: vm, type: 'Warning' };
  await api.create(events, { ...event, reason: 'FailedCreatePodSandBox', message: 'no' } as KubernetesObject);
  let looks = 0;
  const list: KubernetesApi['list'] = async (resource, query) => {
    if (resource === events) looks += 1;
    if (looks === 2)
      throw new ApiError({ ...failed, reason: 'InternalError', code: 500, message: 'no leader' });
    if (looks === 4) await api.patch(vmPod, { status: runningStatus }, { subresource: 'status' });
    return api.list(resource, query);
  };
  const unsteady = { ...interceptingApi(api, () => Promise.resolve()), list };
  const [cid] = await createVm({ ...cloud, api: unsteady }, createVmArguments());
  assert.equal(cid, vmCidOfTest);
  assert.ok(looks >= 4, String(looks));
});
