import assert from 'node:assert/strict';
import fc from 'fast-check';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { describeInOneNamespace } from '../../embedded-cluster/node/testing/in-namespace.ts';
import type { ApiServer } from '../../embedded-cluster/api-server/start-api-server.ts';
import { EmbeddedWorld } from '../../src/cpi/testing/embedded-world.ts';
import { namespace } from '../../src/cpi/testing/test-cloud.ts';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import {
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  secrets,
  storageClasses,
  volumeSnapshots,
} from '../../src/kubernetes/resources.ts';
import type { StorageClass } from '../../src/kubernetes/types/storage.ts';
import { until } from '../support/until.ts';
import { CpiProcesses } from './embedded/cpi-processes.ts';
import { EmbeddedRun } from './embedded/embedded-run.ts';
import { Turnstile } from './embedded/turnstile.ts';
import { plans } from './simulated/plan.ts';

const seconds = Number(process.env['BOSH_KUBERNETES_RANDOM_SECONDS'] ?? 100);
const seed = Number(process.env['BOSH_KUBERNETES_RANDOM_SEED']?.split('/')[0] ?? Date.now() % 2 ** 31);
/** The number of concurrent runs: a run mostly waits. */
const lanes = 3;
/** A run that has begun is finished, which takes long if calls wait for each other. */
const secondsToFinish = 200;
const secondsToReport = 60;

describeInOneNamespace(
  import.meta.filename,
  () => {
    let world: EmbeddedWorld;
    let server: ApiServer;

    before(async () => {
      world = await EmbeddedWorld.start();
      server = await world.serve(() => undefined);
      for (const name of ['now', 'other']) {
        await world.api.create<StorageClass>(storageClasses, {
          ...{ metadata: { name }, provisioner: 'bosh-kubernetes.io/local' },
          ...{ volumeBindingMode: 'Immediate', allowVolumeExpansion: true },
        });
      }
    });
    after(async () => {
      await server.close();
      await world.stop();
    });

    test('random concurrent calls on real pods, with kills, foreign deletions and restarts: no disk is in two VMs, no write is lost, nothing remains', async (t) => {
      const end = Date.now() + seconds * 1000;
      const processes = new CpiProcesses(world, server.kubeconfig);
      let [started, calls, writes] = [0, 0, 0];
      const failures: string[] = [];
      const running = new Set<() => string>();
      const lane = async (): Promise<void> => {
        while (Date.now() < end && failures.length === 0) {
          const number = started;
          started += 1;
          const [plan] = fc.sample(plans, { seed: seed + number, numRuns: 1 });
          if (plan === undefined) return;
          const [order = []] = fc.sample(fc.array(fc.nat(), { minLength: 500, maxLength: 500 }), {
            ...{ seed: seed + number, numRuns: 1 },
          });
          const turnstile = new Turnstile((bound) => (order[turnstile.trace.length % 500] ?? 0) % bound);
          const run = new EmbeddedRun({ plan, number, world, turnstile, processes });
          const again = `BOSH_KUBERNETES_RANDOM_SEED=${seed + number}`;
          const describe = (): string =>
            [JSON.stringify(plan), ...turnstile.trace, ...run.violations, again].join('\n');
          running.add(describe);
          await run.do();
          running.delete(describe);
          calls += run.calls;
          writes += run.writes;
          if (run.violations.length === 0) continue;
          failures.push(describe());
        }
      };
      const tooLate = AbortSignal.timeout((seconds + secondsToFinish) * 1000);
      await Promise.race([Promise.all(Array.from({ length: lanes }, lane)), once(tooLate, 'abort')]);
      for (const describe of running) failures.push(`this run does not end: ${describe()}`);
      t.diagnostic(
        `${calls} calls and ${writes} writes in ${started} runs, BOSH_KUBERNETES_RANDOM_SEED=${seed}`,
      );
      // also if the hook below then waits for a run that does not end
      for (const failure of failures) t.diagnostic(failure);
      assert.equal(failures.length, 0);
      assert.ok(writes > 0, 'no job has written anything');
      await until('nothing to be left', async () => (await leftOvers()).length === 0).catch(async () =>
        assert.deepEqual(await leftOvers(), []),
      );
    });

    async function leftOvers(): Promise<string[]> {
      const kinds = [pods, secrets, persistentVolumeClaims, persistentVolumes, volumeSnapshots];
      const lists = await Promise.all(
        kinds.map(async (kind) => {
          const query = kind.namespaced ? { namespace } : {};
          const { items } = await world.api.list<KubernetesObject>(kind, query);
          return items.map(({ metadata }) => `${kind.plural} ${metadata.name}`);
        }),
      );
      return lists.flat();
    }
  },
  seconds + secondsToFinish + secondsToReport,
);
