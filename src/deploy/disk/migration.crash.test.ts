import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEnv } from '../create-env.ts';
import type { DeploymentState } from '../state/deployment-state.ts';
import { currentDisk } from '../state/state-changes.ts';
import { assertConverged, killedRun, moments } from '../testing/killed-run.ts';
import { testEnvironment, type TestEnvironment } from '../testing/test-environment.ts';

interface KillPoint {
  readonly name: string;
  /** True if the run has recorded the new disk as the current one. */
  readonly isRecorded: boolean;
  readonly killedRun: (environment: TestEnvironment, flags: object) => Promise<void>;
}

const cpiCalls = ['create_disk', 'attach_disk', 'detach_disk', 'delete_disk'];
const atCpiCalls = cpiCalls.flatMap((method) =>
  moments.map((kind): KillPoint => ({
    name: `${kind} ${method}`,
    isRecorded: ['detach_disk', 'delete_disk'].includes(method),
    killedRun: async (environment, flags) => {
      await environment.cloud.fail({ method, kind });
      await killedRun(environment, flags);
    },
  })),
);

/** The writes of the run to the state file after it has created the disk. */
const writes = ['the disk', 'the new current disk', 'the deletion of the previous disk'];
const atWrites = writes.map((what, index): KillPoint => ({
  name: `after the write of ${what}`,
  isRecorded: index >= 1,
  killedRun: (environment, flags) =>
    killedRun(environment, { ...flags, killAt: 'Creating disk', killAtWrite: index + 1 }),
}));

/**
 * The requests to the agent about the new disk and finally about the previous one, with the `nth` of each
 * call.
 */
const agentCalls = [
  { verb: 'mount_disk', nth: 2, moment: 'after' },
  { verb: 'migrate_disk', nth: 1, moment: 'before' },
  { verb: 'migrate_disk', nth: 1, moment: 'after' },
  { verb: 'remove_persistent_disk', nth: 1, moment: 'after' },
] as const;
const atAgentCalls = agentCalls.map((call): KillPoint => ({
  name: `${call.moment} the agent's ${call.verb}`,
  isRecorded: call.verb === 'remove_persistent_disk',
  killedRun: (environment, flags) =>
    killedRun(environment, flags, (deployer) => {
      const happens = (): void => void deployer.kill('SIGKILL');
      environment.agent.faults.interruption = { ...call, happens };
    }),
}));

type Disk = DeploymentState['disks'][number];

interface Change {
  readonly edit?: (disk: Disk) => (manifest: string) => string;
  readonly flags?: object;
}

/** The changes that cause a new disk: an edited manifest or a flag. */
const changes: readonly Change[] = [
  {
    edit:
      ({ size }) =>
      (text) =>
        text.replace(/disk_size: \d+/u, `disk_size: ${size === 64 ? 128 : 64}`),
  },
  {
    edit:
      ({ cloud_properties: { type } }) =>
      (text) =>
        text.replace(/\{type: \w+\}/u, `{type: ${type === 'fast' ? 'slow' : 'fast'}}`),
  },
  { flags: { recreatePersistentDisks: true } },
];

test('after a kill during a disk migration, the recorded disk is complete, and the next run has one disk with all data', async (t) => {
  const environment = await testEnvironment(t);
  const { cloud, agent, options, ports, editManifest } = environment;
  const recorded = async (): Promise<Disk> =>
    currentDisk((await environment.state()) as unknown as DeploymentState) ?? assert.fail('no disk');
  await createEnv(options, ports);
  let starts = 1;
  let lost = 0;
  for (const [index, point] of [...atCpiCalls, ...atWrites, ...atAgentCalls].entries()) {
    const { edit, flags = {} } = changes[index % changes.length] ?? {};
    await t.test(
      `${point.name}${edit === undefined ? ', with --recreate-persistent-disks' : ''}`,
      async () => {
        const previous = await recorded();
        if (edit !== undefined) await editManifest(edit(previous));
        agent.calls.length = 0;
        await point.killedRun(environment, flags);

        const current = await recorded();
        assert.equal(current.cid !== previous.cid, point.isRecorded);
        assert.ok(cloud.disks().includes(current.cid));
        assert.deepEqual(agent.contents.get(current.cid), Array(starts).fill('start'));
        agent.calls.length = 0;

        const result = await createEnv({ ...options, ...flags }, ports);

        starts += 1;
        assertConverged(environment, result);
        const { disks } = (await environment.state()) as unknown as DeploymentState;
        assert.deepEqual(
          disks.map(({ cid }) => cid),
          [result.diskCid],
        );
        assert.deepEqual(agent.contents.get(result.diskCid ?? ''), Array(starts).fill('start'));
        // A copy that was recorded is repeated only if the flag requires it.
        const isAgain = agent.calls.some(({ method }) => method === 'migrate_disk');
        assert.equal(isAgain, !point.isRecorded || edit === undefined);
        // The CPI contract has no method by which a deployer could find a disk whose response was lost.
        if (point.name === 'kill-after create_disk') lost += 1;
        assert.equal(cloud.disks().length, 1 + lost);
      },
    );
  }
});
