import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { isProductError, ProductError } from '../../errors/product-error.ts';
import { ApiError, isApiError } from '../../kubernetes/client/api-error.ts';
import type { ContainerState, PodStatus } from '../../kubernetes/types/pod.ts';
import { pods } from '../../kubernetes/resources.ts';
import type { CallContext, ExecCommand } from '../call.ts';
import { parseConfig } from '../config/config.ts';
import { createVmRequest, namespace, testCloud, vmCidOfTest as cid } from '../testing/test-cloud.ts';
import { createVm } from './create-vm.ts';
import { rebootVm } from './reboot-vm.ts';
import { verbOf } from '../testing/verb-of.ts';

const running: ContainerState = { running: { startedAt: '2026-01-01T00:00:00Z' } };
const backOff: ContainerState = {
  waiting: { reason: 'CrashLoopBackOff', message: 'back-off 5m0s restarting failed container' },
};

interface World {
  readonly cloud: CallContext;
  readonly asked: ExecCommand[];
  /** Sets the status that the kubelet reports from now on. */
  readonly says: (id: string | undefined, state: ContainerState, status?: PodStatus) => Promise<void>;
}

/** Creates a VM whose container `one` runs, in a cluster where the exec of the stop script calls `ask`. */
async function world(t: TestContext, ask: (says: World['says']) => Promise<number>): Promise<World> {
  const { cloud, api } = await testCloud(t, { deadlines: { schedule: 5, create_vm: 20, reboot_vm: 1 } });
  await createVm(cloud, createVmRequest());
  const asked: ExecCommand[] = [];
  const says: World['says'] = async (id, state, status = {}) => {
    const container = { name: 'bosh', image: 'i', imageID: '', ready: false, restartCount: 1, state };
    const containerStatuses = [{ ...container, ...(id !== undefined && { containerID: id }) }];
    await api.patch(
      { resource: pods, namespace, name: cid },
      { status: { ...status, containerStatuses } },
      { subresource: 'status' },
    );
  };
  await says('one', running);
  const exec: CallContext['exec'] = async (command) => {
    asked.push(command);
    return { exitCode: await ask(says), stdout: '', stderr: 'no shell' };
  };
  return { cloud: { ...cloud, exec }, asked, says };
}

const rejectsWith = (promise: Promise<unknown>, code: string, ...words: RegExp[]): Promise<void> =>
  assert.rejects(promise, (error) => {
    assert.ok(isProductError(error), String(error));
    assert.equal(error.code, code);
    for (const word of words) assert.match(error.message, word);
    return true;
  });

test('PID 1 of the container is asked once, and the next container is waited for', async (t) => {
  const { cloud, asked } = await world(t, async (says) => {
    await says('one', { terminated: { exitCode: 0 } });
    await says('two', running);
    return 0;
  });
  assert.equal(await rebootVm(cloud, { vmCid: cid }), null);
  assert.equal(asked.length, 1);
  assert.equal(asked[0]?.container, 'bosh');
});

test('the connection that ends with the container is no error', async (t) => {
  const { cloud } = await world(t, async (says) => {
    await says('two', running);
    throw new ProductError('KUBERNETES_UNREACHABLE', 'the connection ended');
  });
  assert.equal(await rebootVm(cloud, { vmCid: cid }), null);
});

test('a role that may not exec is told at once', async (t) => {
  const { cloud } = await world(t, () => {
    const message = 'pods "vm" is forbidden';
    const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' } as const;
    throw new ApiError({ ...status, code: 403, reason: 'Forbidden', message });
  });
  await assert.rejects(rebootVm(cloud, { vmCid: cid }), (error) => isApiError(error, 403));
});

test('a container that is down is not asked, and one that runs already is not the new one', async (t) => {
  const { cloud, asked, says } = await world(t, () => Promise.resolve(0));
  await says('one', backOff);
  const rebooting = rebootVm(cloud, { vmCid: cid });
  await says('two', running);
  assert.equal(await rebooting, null);
  assert.equal(asked.length, 0);
  await rejectsWith(rebootVm(cloud, { vmCid: cid }), 'DEADLINE', /to run again/u);
});

test("the deadline's error names the kubelet's pause, what holds the container, and why PID 1 was not reached", async (t) => {
  const late = await world(t, async (says) => {
    await says('one', backOff);
    return 0;
  });
  await rejectsWith(
    rebootVm(late.cloud, { vmCid: cid }),
    'DEADLINE',
    /five minutes/u,
    /CrashLoopBackOff/u,
    /1 s/u,
  );
  const deaf = await world(t, () => Promise.resolve(127));
  await rejectsWith(rebootVm(deaf.cloud, { vmCid: cid }), 'DEADLINE', /exit code 127: no shell/u);
});

test("without a deadline of one's own it is longer than the kubelet's pause of five minutes", () => {
  assert.ok(parseConfig({}, {}).deadlines.rebootVm > 300);
});

test('a pod that ended for good or was deleted meanwhile is told from one that is slow', async (t) => {
  const evicted = await world(t, async (says) => {
    await says('one', { terminated: { exitCode: 137 } }, { phase: 'Failed', reason: 'Evicted' });
    return 0;
  });
  await rejectsWith(rebootVm(evicted.cloud, { vmCid: cid }), 'VM_NOT_REBOOTED', /Evicted/u, /delete the VM/u);
  const deleted = await world(t, async () => {
    await deleted.cloud.api.delete({ resource: pods, namespace, name: cid }, { gracePeriodSeconds: 0 });
    return 0;
  });
  await rejectsWith(rebootVm(deleted.cloud, { vmCid: cid }), 'VM_NOT_FOUND');
});

test('missing arguments and what is no VM', async (t) => {
  const { cloud } = await testCloud(t);
  for (const args of [[], [null], [7], ['']])
    await rejectsWith(verbOf('reboot_vm')(cloud, args), 'INVALID_ARGUMENT', /reboot_vm\.vm_cid/u);
  await rejectsWith(rebootVm(cloud, { vmCid: 'vm-none' }), 'VM_NOT_FOUND', /vm-none/u);
});
