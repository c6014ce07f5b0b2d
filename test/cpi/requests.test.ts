import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ExecCommand } from '../../src/cpi/call.ts';
import { processTime } from '../../src/cpi/protocol/call-recorder.ts';
import { methodNames } from '../../src/cpi/protocol/methods.ts';
import { ObservedCall } from '../../src/cpi/record/observed-call.ts';
import { countingApi } from '../../src/cpi/testing/counting-api.ts';
import { networkPolicyKind } from '../../src/cpi/testing/foreign-kinds.ts';
import { storageCloud } from '../../src/cpi/testing/storage-cloud.ts';
import { verbOf } from '../../src/cpi/testing/verb-of.ts';
import { verbScenarios } from '../../src/cpi/testing/verb-scenarios.ts';
import { type Clock, systemClock } from '../../src/platform/clock.ts';
import { requestRows } from './request-rows.ts';

/**
 * The table of requests in docs/cpi/internals.md: the number of writes is exact; reads and execs are the
 * maximum if nothing fails.
 */
const rows = await requestRows();

/**
 * A clock without the polls of events and nodes that a verb makes after some seconds: they are for failures,
 * not for a slow machine.
 */
const patient: Clock = {
  ...systemClock,
  sleep: (milliseconds, signal) => systemClock.sleep(milliseconds >= 1000 ? 60_000 : milliseconds, signal),
};

test('every method has a row', () => {
  const named = [...rows.keys()].map((name) => name.split(' ')[0]);
  for (const method of methodNames) assert.ok(named.includes(method), method);
  assert.deepEqual(
    [...rows.keys()],
    verbScenarios.map(({ name }) => name),
  );
});

for (const scenario of verbScenarios) {
  test(`${scenario.name} sends as many requests as docs/cpi/internals.md says`, async (t) => {
    const { cloud } = await storageCloud(t, { deadlines: {}, ...scenario.config }, [networkPolicyKind]);
    const args = await scenario.prepare(cloud);
    const { api, requests } = countingApi(cloud.api);
    const exec = scenario.exec?.(cloud) ?? cloud.exec;
    let execs = 0;
    const call = {
      ...cloud,
      api,
      clock: patient,
      exec: (command: ExecCommand) => {
        execs += 1;
        return exec(command);
      },
    };
    const observed = new ObservedCall(call, processTime);
    await verbOf(scenario.method)(observed.call, args);
    const { reads, writes } = requests;
    assert.deepEqual(observed.requests, { reads: reads.length, writes: writes.length, execs });
    const row = rows.get(scenario.name);
    assert.ok(row !== undefined);
    const seen = JSON.stringify({ ...requests, execs });
    assert.equal(requests.writes.length, row.writes, seen);
    assert.ok(requests.reads.length <= row.reads, seen);
    assert.ok(execs <= row.execs, seen);
  });
}
