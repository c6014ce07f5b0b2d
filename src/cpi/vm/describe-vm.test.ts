import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ContainerState } from '../../kubernetes/types/pod.ts';
import { pods } from '../../kubernetes/resources.ts';
import type { CallContext } from '../call.ts';
import { quickLooks } from '../testing/quick-looks.ts';
import { rejection } from '../testing/rejection.ts';
import { createVmRequest, namespace, testCloud, vmCidOfTest } from '../testing/test-cloud.ts';
import { createVm } from './create-vm.ts';
import { describeVm } from './describe-vm.ts';

const vmPod = { resource: pods, namespace, name: vmCidOfTest };
const running: ContainerState = { running: { startedAt: '2026-01-01T00:00:00Z' } };
const ended: ContainerState = { terminated: { exitCode: 7, reason: 'Error' } };

async function setContainer(
  { api }: CallContext,
  state: ContainerState,
  restartCount: number,
): Promise<void> {
  const lastState = restartCount > 0 ? ended : {};
  const container = { name: 'bosh', image: 'i', imageID: '', ready: false, restartCount, state, lastState };
  await api.patch(vmPod, { status: { containerStatuses: [container] } }, { subresource: 'status' });
}

test('describe_vm: nothing of a VM that runs; else its container, how it ended, and what to do', async (t) => {
  const { cloud, api } = await testCloud(t);
  await createVm(cloud, createVmRequest());
  assert.equal(await describeVm(cloud, { vmCid: vmCidOfTest }), null);

  const waiting = { reason: 'CrashLoopBackOff', message: 'back-off 40s restarting failed container' };
  await setContainer(cloud, { waiting }, 3);
  assert.match(
    (await describeVm(cloud, { vmCid: vmCidOfTest })) ?? '',
    /^its container ends each time it is started \(container bosh, CrashLoopBackOff\): back-off 40s .*exit code 7: Error; look at the log .*kubectl logs/u,
  );
  await setContainer(cloud, running, 3);
  assert.match(
    (await describeVm(cloud, { vmCid: vmCidOfTest })) ?? '',
    /container bosh running \(ended before with exit code 7, 3 restarts\).*kubectl logs/u,
  );
  await api.delete(vmPod);
  assert.match((await describeVm(cloud, { vmCid: vmCidOfTest })) ?? '', /being deleted since/u);
  const other = vmCidOfTest.replace(/1$/u, '2');
  await assert.rejects(describeVm(cloud, { vmCid: other }), rejection('VM_NOT_FOUND', /recreate it/u));
});

async function saidOfNewVm(cloud: CallContext): Promise<string[]> {
  const lines: string[] = [];
  const say = (line: string): void => void lines.push(line);
  await assert.rejects(
    createVm({ ...cloud, reportProgress: say, clock: quickLooks }, createVmRequest()),
    rejection('VM_CREATION_FAILED'),
  );
  return lines;
}

test('create_vm says what a pod without a node waits for, once', async (t) => {
  const { cloud, node } = await testCloud(t);
  node.unschedulable = '0/2 nodes are available: 2 Insufficient memory.';
  const lines = await saidOfNewVm(cloud);
  const [last = ''] = lines.slice(-1);
  assert.match(
    last,
    /^waiting for a node to take pod vm-.*: phase Pending, Unschedulable: 0\/2 nodes .* Insufficient memory\./u,
  );
  assert.equal(new Set(lines).size, lines.length);
  assert.ok(lines.length <= 3, lines.join('\n'));
});

test('create_vm says what a container waits for, again when that changes', async (t) => {
  const { cloud, api, node } = await testCloud(t, { deadlines: { create_vm: 2 } });
  node.isPulling = true;
  const lines: string[] = [];
  const say = (line: string): void => {
    lines.push(line);
    if (!line.includes('ContainerCreating')) return;
    const state = { waiting: { reason: 'ErrImagePull', message: `no such host\n${'such '.repeat(300)}` } };
    void setContainer({ ...cloud, api }, state, 0);
  };
  await assert.rejects(createVm({ ...cloud, reportProgress: say, clock: quickLooks }, createVmRequest()));
  // create-env prints no longer lines
  for (const line of lines) assert.ok(line.length < 1024 && !line.includes('\n'), line);
  assert.match(
    lines.join('\n'),
    /container bosh ContainerCreating.*\n(.*\n)*.*container bosh ErrImagePull: no such host/u,
  );
});
