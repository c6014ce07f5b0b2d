import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { test } from 'node:test';
import { until } from '../../../test/support/until.ts';
import { startBroker } from './start-broker.ts';
import type { CallBroker } from './testing/test-broker.ts';
import { asyncConfig, callerOf, instancePath, nfsPlan, provisionBody } from './testing/test-broker.ts';

const accepts = '?accepts_incomplete=true';

/** Runs `work` against a broker whose file servers never respond, and kills the broker. */
async function killed(folder: string, work: (call: CallBroker) => Promise<void>): Promise<void> {
  const main = join(import.meta.dirname, 'testing', 'asking-broker.ts');
  const child = spawn(process.execPath, [main, folder], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  try {
    const [url] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
    await work(callerOf(url));
  } finally {
    child.kill('SIGKILL');
    await exited;
  }
}

/** Starts the next broker on the same store. Its share check returns `trouble`. */
async function next(t: TestContext, folder: string, trouble: string | undefined): Promise<CallBroker> {
  const running = await startBroker(
    asyncConfig(folder),
    () => undefined,
    async () => trouble,
  );
  t.after(() => running.stop());
  return callerOf(running.url);
}

async function endOf(call: CallBroker): Promise<Record<string, unknown>> {
  return until('the end of the operation', async () => {
    const { status, body } = await call('GET', `${instancePath}/last_operation`);
    assert.equal(status, 200);
    return body['state'] === 'in progress' ? undefined : body;
  });
}

async function newFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'broker-async-crash-'));
  t.after(() => rm(folder, { recursive: true }));
  return folder;
}

for (const trouble of [undefined, 'the server is away']) {
  const end = trouble === undefined ? 'succeeds' : 'fails';
  test(`a create whose broker was killed ${end} at the next poll`, async (t) => {
    const folder = await newFolder(t);
    let operation: unknown;
    await killed(folder, async (call) => {
      const started = await call('PUT', `${instancePath}${accepts}`, { body: provisionBody });
      assert.equal(started.status, 202, started.text);
      ({ operation } = started.body);
    });
    const call = await next(t, folder, trouble);
    const again = await call('PUT', `${instancePath}${accepts}`, { body: provisionBody });
    assert.deepEqual([again.status, again.body], [202, { operation }]);
    assert.equal((await endOf(call))['state'], trouble === undefined ? 'succeeded' : 'failed');
    assert.equal((await call('GET', instancePath)).status, trouble === undefined ? 200 : 404);
  });
}

test('an update whose broker was killed is done at the next poll, and not before', async (t) => {
  const folder = await newFolder(t);
  const other = await next(t, folder, undefined);
  assert.equal((await other('PUT', instancePath, { body: provisionBody })).status, 201);
  await killed(folder, async (call) => {
    const patch = { ...nfsPlan, parameters: { share: 'other/export' } };
    assert.equal((await call('PATCH', `${instancePath}${accepts}`, { body: patch })).status, 202);
  });
  assert.equal((await other('GET', instancePath)).status, 422);
  assert.deepEqual(await endOf(other), { state: 'succeeded' });
  assert.deepEqual((await other('GET', instancePath)).body['parameters'], { share: 'other/export' });
});
