import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { createVmArguments, createVmRequest, namespace } from '../../src/cpi/testing/test-cloud.ts';
import { loadAccess } from '../../src/kubernetes/access/kubeconfig-access.ts';
import { pods } from '../../src/kubernetes/resources.ts';
import { applyRoles } from '../conformance/roles.ts';
import { stopAttach, stopDetach, stopRelease, type TwoVms } from '../support/stopped-calls.ts';
import { StoppedCpi } from '../support/stopped-cpi.ts';
import { isMissing } from './artefact.ts';
import { CpiWorld } from './cpi-world.ts';

let world: CpiWorld;

before(async () => {
  world = await CpiWorld.start();
  await applyRoles(world.api, { namespace });
});
after(() => world.stop());

/** A director may leave such a process behind if its task was cancelled or its machine was suspended. */
for (const name of ['bundle', 'executable'] as const) {
  describe(`${name}: a call that was stopped in its middle`, { skip: isMissing(name) }, () => {
    const withCpi = async (attach: string, use: (cpi: StoppedCpi) => Promise<void>): Promise<void> => {
      const artefact = world.artefacts.get(name);
      assert.ok(artefact !== undefined);
      const access = await loadAccess(world.settings.kubernetes['kubeconfig']);
      const { agent, deadlines } = world.settings;
      const settings = { kubernetes: { attach }, agent, deadlines };
      const cpi = await StoppedCpi.open({ artefact, access, namespace, settings });
      try {
        await use(cpi);
      } finally {
        await cpi.close();
      }
    };
    const newVm = async (cpi: StoppedCpi): Promise<string> => {
      const networks = { default: { type: 'dynamic' } };
      const vm = createVmRequest({ agentId: randomUUID(), networks });
      const [cid] = (await cpi.call('create_vm', ...createVmArguments(vm))) as [string];
      return cid;
    };
    const withTwoVms = (stop: (vms: TwoVms) => Promise<void>): Promise<void> =>
      withCpi('recreate', async (cpi) => {
        const [one, other] = [await newVm(cpi), await newVm(cpi)];
        const disk = (await cpi.call('create_disk', 64, {}, null)) as string;
        const use = (): Promise<void> => Promise.resolve();
        await stop({ api: world.api, namespace, cpi, one, other, disk, use });
        for (const each of [one, other]) await cpi.call('delete_vm', each);
        await cpi.call('delete_disk', disk);
      });

    test('attach_disk, which waited for a pod, makes none with a disk that another VM has by now', () =>
      withTwoVms(stopAttach));

    test('detach_disk, which waited for a pod, leaves the VM a disk that was attached to it again', () =>
      withTwoVms(stopDetach));

    test('detach_disk, whose attachment is deleted by force, does not say that a disk in use is detached', () =>
      withCpi('hot', async (cpi) => {
        const vm = await newVm(cpi);
        const disk = (await cpi.call('create_disk', 64, {}, null)) as string;
        await cpi.call('attach_disk', vm, disk);
        world.node.busyDisks.add(disk);
        await stopRelease(cpi, { vm, disk }, async (attachment) => {
          world.node.leftMounts.add(disk);
          const reference = { resource: pods, namespace, name: attachment };
          await world.api.delete(reference, { gracePeriodSeconds: 0 });
        });
        assert.deepEqual(await cpi.call('get_disks', vm), [disk]);
        await world.node.release(disk);
        await cpi.call('detach_disk', vm, disk);
        await cpi.call('delete_vm', vm);
        await cpi.call('delete_disk', disk);
      }));
  });
}
