import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { after, before, test } from 'node:test';
import type { CpiResponse } from '../../src/cpi/protocol.ts';
import { createVmArguments, namespace, vmCidOfTest as one } from '../../src/cpi/testing/test-cloud.ts';
import { disksOf } from '../../src/cpi/vm/pod-record.ts';
import type { Pod } from '../../src/kubernetes/pod.ts';
import { pods, secrets } from '../../src/kubernetes/resources.ts';
import { until } from '../support/until.ts';
import { call, isMissing } from './artefact.ts';
import { CpiWorld } from './cpi-world.ts';

const other = 'vm-other';

let world: CpiWorld;

before(async () => {
  world = await CpiWorld.start();
});
after(() => world.stop());

/** A director whose task was cancelled, or whose machine was suspended, may leave such a process behind. */
for (const name of ['bundle', 'executable'] as const) {
  test(
    `${name}: an attach_disk that was stopped while it waited for a pod makes none with a disk of another VM`,
    {
      skip: isMissing(name),
    },
    async () => {
      const artefact = world.artefacts.get(name);
      assert.ok(artefact !== undefined);
      const ask = (
        method: string,
        args: readonly unknown[],
        onStart?: (child: ChildProcess) => void,
      ): Promise<CpiResponse> =>
        call(
          artefact,
          {
            method,
            arguments: args,
            context: { kubernetes: { ...world.settings.kubernetes, attach: 'recreate' } },
          },
          { config: world.config, ...(onStart !== undefined && { onStart }) },
        );
      const done = async (method: string, ...args: readonly unknown[]): Promise<unknown> => {
        const { error, result } = await ask(method, args);
        assert.equal(error, null, error?.message);
        return result;
      };
      const podOf = (vm: string): Promise<Pod> => world.api.get<Pod>({ resource: pods, namespace, name: vm });
      await done('create_vm', ...createVmArguments());
      const networks = { default: { type: 'dynamic' } };
      await done('create_vm', ...createVmArguments({ agentId: 'other', networks }));
      const disk = (await done('create_disk', 64, {}, null)) as string;

      world.node.stoppingVms.add(one);
      let child: ChildProcess | undefined;
      const slow = ask('attach_disk', [one, disk], (started) => (child = started));
      await until(
        'the former pod to end',
        async () => (await podOf(one)).metadata.deletionTimestamp !== undefined,
      );
      assert.equal(child?.kill('SIGSTOP'), true);
      await world.node.letStop(one);
      await done('detach_disk', one, disk);
      await done('attach_disk', other, disk);
      const { uid } = (await podOf(one)).metadata;
      assert.equal(child?.kill('SIGCONT'), true);

      const { error } = await slow;
      assert.match(error?.message ?? '', /another call has detached it/u);
      const pod = await podOf(one);
      assert.deepEqual([pod.metadata.uid, disksOf(pod), pod.status?.phase], [uid, [], 'Running']);
      assert.deepEqual(disksOf(await podOf(other)), [disk]);
      for (const vm of [one, other]) await done('delete_vm', vm);
      await done('delete_disk', disk);
      assert.deepEqual((await world.api.list(secrets, { namespace })).items, []);
    },
  );
}
