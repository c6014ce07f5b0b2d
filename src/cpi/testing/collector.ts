import type { TestContext } from 'node:test';
import type { LocalApi } from '../../cluster/api/local-api.ts';
import { DefinedKinds } from '../../cluster/controllers/collection/defined-kinds.ts';
import { createGarbageCollector } from '../../cluster/controllers/collection/garbage-collector.ts';
import { defaultNodeTimings } from '../../cluster/controllers/nodes/node-timings.ts';
import { EventRecorder } from '../../cluster/controllers/runtime/event-recorder.ts';
import { allInformers, createInformers } from '../../cluster/controllers/runtime/informers.ts';
import { systemClock } from '../../kubernetes/clock.ts';

/** The cluster's garbage collector, for tests of what is left to it. */
export async function startCollector(t: TestContext, api: LocalApi): Promise<void> {
  const errors: unknown[] = [];
  const runtime = {
    clock: systemClock,
    random: () => 0,
    onError: (error: unknown) => void errors.push(error),
  };
  const informers = createInformers(api, runtime);
  const defined = new DefinedKinds(api, runtime, informers.definitions);
  const noVolumes = { provision: () => Promise.reject(new Error()), remove: () => Promise.resolve() };
  const queue = createGarbageCollector({
    ...runtime,
    ...{ api, informers, defined, nodeTimings: defaultNodeTimings, rootCertificate: undefined },
    provisioner: noVolumes as never,
    recorder: (component) => new EventRecorder({ ...runtime, api, component }),
  });
  const all = allInformers(informers);
  const working = all.map((informer) => informer.run());
  await Promise.all(all.map(({ synced }) => synced));
  working.push(queue.run());
  t.after(async () => {
    for (const part of [queue, ...all]) part.stop();
    await Promise.all([...working, defined.stop()]);
  });
}
