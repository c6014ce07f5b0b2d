import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { systemClock } from '../../platform/clock.ts';
import { ping } from '../actions/state.ts';
import type { BusCertificate } from '../settings/settings.ts';
import { eventually } from '../testing/eventually.ts';
import { NatsDirector } from '../testing/nats-director.ts';
import { mbusSettings, noNatsServer, TestNatsServer } from '../testing/nats-server.ts';
import { TestVm } from '../testing/test-vm.ts';
import { TaskQueue } from '../task/task-queue.ts';
import { natsCredentials, NatsBus } from './nats-bus.ts';

const skip = noNatsServer;
const id = 'agent-1';

interface Scene {
  readonly server: TestNatsServer;
  readonly director: NatsDirector;
  readonly vm: TestVm;
}

/** A server, a director, and the VM of an agent that has the short-lived certificate of create_vm. */
async function scene(t: TestContext): Promise<Scene> {
  const server = await TestNatsServer.start();
  t.after(() => server.stop());
  const director = await NatsDirector.connect(server);
  t.after(() => director.close());
  const mbus = mbusSettings(await server.agentCertificate(id, 'bootstrap'));
  const vm = await TestVm.create(undefined, { mbus }, { mbus: server.url });
  t.after(() => vm.remove());
  return { server, director, vm };
}

test('an agent is admitted late, answers, and publishes heartbeats', { skip }, async (t) => {
  const { server, director, vm } = await scene(t);
  const heartbeats = await server.listen('hm.agent.heartbeat.*');
  t.after(() => heartbeats.close());
  await vm.start();
  await eventually(
    'a refusal',
    async () => (await server.log()).includes('authentication error') || undefined,
  );
  assert.equal(vm.lines.filter((line) => line.includes('Authorization Violation')).length, 1);
  assert.match(vm.lines.join('\n'), /check that nats-sync runs, the agent tries again/);
  await server.admit([{ id, kinds: ['bootstrap', 'permanent'] }]);
  await director.waitUntilReady(id);
  const [subject, heartbeat] = await eventually('a heartbeat', async () => heartbeats.received[0]);
  assert.equal(subject, `hm.agent.heartbeat.${id}`);
  assert.deepEqual(Object.keys(heartbeat), [
    ...['deployment', 'job', 'index', 'job_state', 'vitals', 'node_id', 'number_of_processes'],
  ]);
  assert.deepEqual(await director.request(id, 'add_dynamic_disk'), {
    exception: { message: 'unknown message add_dynamic_disk' },
  });
  assert.deepEqual(await server.violations(), []);
});

test(
  'a message that is no request is ignored, and a repeated request is handled once',
  { skip },
  async (t) => {
    const { server, director, vm } = await scene(t);
    await server.admit([{ id, kinds: ['bootstrap'] }]);
    await vm.start();
    await director.waitUntilReady(id);
    for (const text of [
      '',
      'no json',
      '[]',
      '{"method":"ping"}',
      '{"method":"ping","reply_to":"hm.agent.alert.x"}',
    ])
      director.publish(id, text);
    assert.deepEqual(await director.request(id, 'ping', [], { requestId: 'same' }), { value: 'pong' });
    assert.equal(await director.request(id, 'ping', [], { requestId: 'same', timeoutMs: 500 }), undefined);
    assert.deepEqual(await server.violations(), []);
  },
);

test('a server that ends and comes back finds the agent again', { skip }, async (t) => {
  const { server, director, vm } = await scene(t);
  await server.admit([{ id, kinds: ['bootstrap'] }]);
  await vm.start();
  await director.waitUntilReady(id);
  await director.close();
  await server.kill();
  await eventually('the loss', async () => vm.lines.find((line) => line.includes('ended')));
  await server.run();
  const again = await NatsDirector.connect(server);
  t.after(() => again.close());
  await again.waitUntilReady(id);
});

test('update_settings exchanges the certificate and loses no request', { skip }, async (t) => {
  const { server, director, vm } = await scene(t);
  await server.admit([{ id, kinds: ['bootstrap', 'permanent'] }]);
  await vm.start();
  await director.waitUntilReady(id);
  const permanent = await server.agentCertificate(id, 'permanent');
  await whileAsking(director, async () => assert.equal(await update(director, permanent), 'ok'));
  // nats-sync removes the user of the short-lived certificate
  await server.admit([{ id, kinds: ['permanent'] }]);
  assert.deepEqual(await director.request(id, 'ping', [], { timeoutMs: 10_000 }), { value: 'pong' });
  await vm.stop();
  await vm.start();
  await director.waitUntilReady(id);
  const path = join(vm.directories.bosh, 'update_settings.json');
  const { task_id: taskId } = JSON.parse(await readFile(path, 'utf8')) as { task_id: string };
  assert.deepEqual(await director.request(id, 'get_task', [taskId]), { value: 'ok' });
  assert.deepEqual(await server.violations(), []);
});

test('a rotation of the CA loses no request', { skip }, async (t) => {
  const { server, director, vm } = await scene(t);
  await server.admit([{ id, kinds: ['bootstrap', 'permanent'] }]);
  await vm.start();
  await director.waitUntilReady(id);
  const first = await server.agentCertificate(id, 'permanent');
  await server.rotateAuthority();
  await whileAsking(director, () => update(director, { ...first, ca: server.ca }));
  await director.close();
  await server.kill();
  await server.run();
  const again = await NatsDirector.connect(server);
  t.after(() => again.close());
  await again.waitUntilReady(id);
  const second = { ...(await server.agentCertificate(id, 'permanent')), ca: server.newestCa };
  await whileAsking(again, async () => assert.equal(await update(again, second), 'ok'));
  assert.deepEqual(await server.violations(), []);
});

test('a certificate that the server does not accept is not taken', { skip }, async (t) => {
  const server = await TestNatsServer.start();
  t.after(() => server.stop());
  await server.admit([{ id, kinds: ['bootstrap'] }]);
  const director = await NatsDirector.connect(server);
  t.after(() => director.close());
  const log = { info: () => {}, error: () => {} };
  const bus = new NatsBus({
    ...{ agentId: id, clock: systemClock, log, onConnected: () => {}, exchangeDeadlineMs: 1500 },
    servers: [{ host: '127.0.0.1', port: server.port }],
    credentials: [natsCredentials(await server.agentCertificate(id, 'bootstrap'))],
  });
  const tasks = new TaskQueue({ newId: () => '1' });
  await bus.start({ actions: new Map([['ping', ping]]), tasks, clock: systemClock, log });
  t.after(() => bus.close());
  await director.waitUntilReady(id);
  await assert.rejects(
    bus.exchangeCertificate(await server.agentCertificate('agent-2', 'permanent'), () =>
      assert.fail('committed'),
    ),
    /did not accept the new credentials .*the agent keeps the previous ones: .*Authorization Violation/u,
  );
  assert.deepEqual(await director.request(id, 'ping'), { value: 'pong' });
});

test('after a shutdown there is no heartbeat and no answer, also after a restart', { skip }, async (t) => {
  const { server, director, vm } = await scene(t);
  const heartbeats = await server.listen('hm.agent.heartbeat.*');
  t.after(() => heartbeats.close());
  await server.admit([{ id, kinds: ['bootstrap'] }]);
  await vm.start();
  await director.waitUntilReady(id);
  await eventually('a heartbeat', async () => heartbeats.received[0]);
  await director.request(id, 'shutdown', [], { timeoutMs: 1 });
  await eventually('the shutdown', async () => vm.lines.find((line) => line.includes('shut this VM down')));
  const before = heartbeats.received.length;
  await vm.stop();
  await vm.start();
  assert.equal(await director.request(id, 'ping', [], { timeoutMs: 300 }), undefined);
  assert.equal(heartbeats.received.length, before);
  assert.equal(vm.lines.filter((line) => line.includes('is connected')).length, 1);
});

test('update_settings refuses named disks and changes nothing', { skip }, async (t) => {
  const { server, director, vm } = await scene(t);
  await server.admit([{ id, kinds: ['bootstrap'] }]);
  await vm.start();
  await director.waitUntilReady(id);
  await assert.rejects(
    director.call(id, 'update_settings', { disk_associations: [{ name: 'data', cid: 'disk-1' }] }),
    /disk_associations: .*no named disks/u,
  );
});

const update = (director: NatsDirector, certificate: BusCertificate): Promise<unknown> =>
  director.call(id, 'update_settings', {
    trusted_certs: '',
    disk_associations: [],
    mbus: mbusSettings(certificate),
  });

/** Asks the agent without a pause while the work runs. Every request must be answered. */
async function whileAsking(director: NatsDirector, work: () => Promise<unknown>): Promise<void> {
  const answers: unknown[] = [];
  const done = new AbortController();
  const asking = (async () => {
    while (!done.signal.aborted) answers.push(await director.request(id, 'ping', [], { timeoutMs: 10_000 }));
  })();
  try {
    await work();
  } finally {
    done.abort();
    await asking;
  }
  assert.ok(answers.length > 0);
  for (const answer of answers) assert.deepEqual(answer, { value: 'pong' });
}
