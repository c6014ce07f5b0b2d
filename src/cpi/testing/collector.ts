import type { TestContext } from 'node:test';
import type { LocalApi } from '../../cluster/api/local-api.ts';
import { createGarbageCollector } from '../../cluster/controllers/collection/garbage-collector.ts';
import { startControllers } from '../../cluster/controllers/start-controllers.ts';
import { FakeProvisioner } from '../../cluster/controllers/testing/cluster-fixture.ts';
import { systemClock } from '../../kubernetes/clock.ts';

/** The cluster's garbage collector and nothing else, for tests of what is left to it. */
export async function startCollector(t: TestContext, api: LocalApi): Promise<void> {
  const running = await startControllers({
    ...{ api, provisioner: new FakeProvisioner(), clock: systemClock, only: [createGarbageCollector] },
    random: () => 0,
    // what fails is tried again, and a test that waits in vain says so
    onError: () => undefined,
  });
  t.after(() => running.stop());
}
