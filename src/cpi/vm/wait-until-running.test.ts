import assert from 'node:assert/strict';
import { test, suite } from 'node:test';
import { ApiError } from '../../kubernetes/client/api-error.ts';
import type { KubernetesApi } from '../../kubernetes/api.ts';
import type { KubernetesObject } from '../../kubernetes/object.ts';
import { events, pods } from '../../kubernetes/resources.ts';
import { interceptingApi } from '../testing/intercepting-api.ts';
import { rejection } from '../testing/rejection.ts';
import { createVmRequest, namesLeft, namespace, testCloud, vmCidOfTest } from '../testing/test-cloud.ts';
import { createVm } from './create-vm.ts';
import { vmContainer } from '../objects/layout.ts';
import type { ContainerState, ContainerStatus, Pod } from '../../kubernetes/types/pod.ts';
import { plannedPod } from '../testing/planned-pod.ts';
import { startProblem } from './wait-until-running.ts';

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
    createVm(cloud, createVmRequest()),
    rejection(
      'VM_CREATION_FAILED_RETRY',
      /FailedCreatePodSandBox: address 127\.64\.0\.10 is in use/u,
      /requests the address 127\.64\.0\.10: check that a subnet or pool .*contains it \(static_ips of the manifest\)/u,
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
  const [cid] = await createVm({ ...cloud, api: interceptingApi(api, pulled) }, createVmRequest());
  assert.equal(cid, vmCidOfTest);
  assert.ok(looks >= 4, String(looks));
});

test("an image that is still being pulled at the deadline: to be retried, with the pod's state and events, nothing left", async (t) => {
  const { cloud, api, node } = await testCloud(t, { deadlines: { create_vm: 1 } });
  node.sandboxTrouble = 'address 127.64.0.10 is in use';
  node.isPulling = true;
  await assert.rejects(
    createVm(cloud, createVmRequest()),
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
  const [cid] = await createVm({ ...cloud, api: unsteady }, createVmRequest());
  assert.equal(cid, vmCidOfTest);
  assert.ok(looks >= 4, String(looks));
});

const status = (name: string, state: ContainerState): ContainerStatus => ({
  ...{ name, image: 'i', imageID: '', ready: false, restartCount: 0 },
  state,
});
const waiting = (reason: string): ContainerState => ({ waiting: { reason, message: `${reason}, it says` } });
const running: ContainerState = { running: { startedAt: '2026-01-01T00:00:00Z' } };
const done: ContainerState = { terminated: { exitCode: 0 } };

const problemOf = (init: ContainerStatus[], main: ContainerStatus[]): string | undefined =>
  startProblem({
    ...plannedPod(),
    status: { phase: 'Pending', initContainerStatuses: init, containerStatuses: main },
  } satisfies Pod);

suite('why a pod that has a node does not start', () => {
  test('our own containers: what another try does not mend', () => {
    assert.match(
      problemOf([status('prepare', waiting('CrashLoopBackOff'))], []) ?? '',
      /container prepare, CrashLoopBackOff/u,
    );
    for (const name of ['bosh', 'hold'])
      assert.match(
        problemOf([], [status(name, waiting('ImagePullBackOff'))]) ?? '',
        /cannot be pulled .*check the stemcell's image_reference/u,
      );
    assert.equal(problemOf([], [status('bosh', waiting('ContainerCreating'))]), undefined);
  });

  test('an image that was built and not pushed: what its name means, and how it comes to the nodes', () => {
    const image = 'bosh-kubernetes.local/tiny@sha256:00';
    const pulled = { ...status('bosh', waiting('ImagePullBackOff')), image };
    assert.match(
      problemOf([], [pulled]) ?? '',
      /no registry is called bosh-kubernetes\.local.*stemcell push FOLDER.*or load it into every node/u,
    );
    assert.doesNotMatch(
      problemOf([], [{ ...pulled, ...status('bosh', waiting('CrashLoopBackOff')), image }]) ?? '',
      /no registry/u,
    );
  });

  test('a sidecar that a webhook added, in front of ours or behind, decides nothing about our container', () => {
    for (const reason of ['CrashLoopBackOff', 'ImagePullBackOff', 'CreateContainerConfigError']) {
      const proxy = status('istio-proxy', waiting(reason));
      const ours = [status('prepare', done)];
      assert.equal(problemOf(ours, [proxy, status('bosh', running)]), undefined, reason);
      assert.equal(problemOf(ours, [status('bosh', running), proxy]), undefined, reason);
    }
  });

  test('an added init container stands before ours: its image counts and is told from the stemcell, its crashes may pass', () => {
    const behind = [status('prepare', waiting('PodInitializing'))];
    const pulled = problemOf([status('istio-init', waiting('ImagePullBackOff')), ...behind], []);
    assert.match(pulled ?? '', /container istio-init, ImagePullBackOff.*webhook/u);
    assert.doesNotMatch(pulled ?? '', /stemcell/u);
    assert.equal(
      problemOf([status('linkerd-network-validator', waiting('CrashLoopBackOff')), ...behind], []),
      undefined,
    );
  });
});
