import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServiceAlert } from '../monit/service-alert.ts';
import { parseSettings } from '../settings/settings.ts';
import { makeArchive, sha1 } from '../testing/archives.ts';
import { eventually } from '../testing/eventually.ts';
import { matched } from '../testing/fake-machine.ts';
import { NatsDirector } from '../testing/nats-director.ts';
import { noNatsServer, TestNatsServer } from '../testing/nats-server.ts';
import { emptySpec } from '../testing/specs.ts';
import { TestVm } from '../testing/test-vm.ts';
import { formatAlert } from './alert.ts';

const id = 'agent-1';

test('an alert has the severity and the title of upstream', () => {
  const networks = { b: { ip: '10.0.0.9' }, a: { ip: '10.0.0.7' }, dynamic: { type: 'dynamic' } };
  const source = JSON.stringify({ agent_id: id, mbus: 'https://u:p@0.0.0.0:1', networks });
  const settings = parseSettings(source, 'settings');
  const format = (event: ServiceAlert['event']): Record<string, unknown> =>
    formatAlert({ service: 'web', event, action: 'restart' }, { settings, id: 'x', now: 1700 });
  assert.deepEqual(format('Does not exist'), {
    ...{ id: 'x', severity: 1, title: 'web (10.0.0.7, 10.0.0.9) - Does not exist - restart' },
    ...{ summary: 'Does not exist', created_at: 1 },
  });
  const severities = {
    1: ['Execution failed', 'Connection failed'],
    2: ['Timeout'],
    3: ['Resource limit matched'],
    4: ['Checksum changed', 'PID changed', 'PPID changed', 'Timestamp changed'],
  } as const;
  for (const [severity, events] of Object.entries(severities))
    for (const event of events) assert.equal(format(event)['severity'], Number(severity), event);
});

test('the health monitor gets alerts, and the message of a shutdown', { skip: noNatsServer }, async (t) => {
  const server = await TestNatsServer.start();
  t.after(() => server.stop());
  const director = await NatsDirector.connect(server);
  t.after(() => director.close());
  const alerts = await server.listen('hm.agent.alert.*');
  t.after(() => alerts.close());
  const shutdowns = await server.listen('hm.agent.shutdown.*');
  t.after(() => shutdowns.close());
  const { ca, certificate, privateKey } = await server.agentCertificate(id, 'bootstrap');
  const cert = { ca, certificate, private_key: privateKey };
  await server.admit([{ id, kinds: ['bootstrap'] }]);
  const vm = await TestVm.create(undefined, { mbus: { cert } }, { mbus: server.url });
  t.after(() => vm.remove());
  await vm.start();
  await director.waitUntilReady(id);
  const monit = matched('never-up').replace('/start', '/bin/false').replace('/stop', '/bin/true');
  const archive = await makeArchive({ './web/monit': monit });
  const payload = archive.toString('base64');
  await director.call(id, 'upload_blob', { blob_id: 'rendered', checksum: sha1(archive), payload });
  await director.call(id, 'apply', {
    ...emptySpec,
    job: { name: 'web', templates: [{ name: 'web', version: '1', sha1: '', blobstore_id: '' }] },
    rendered_templates_archive: { blobstore_id: 'rendered', sha1: sha1(archive) },
  });
  await director.call(id, 'start');
  const [subject, body] = await eventually('an alert', async () => alerts.received[0]);
  assert.equal(subject, `hm.agent.alert.${id}`);
  assert.deepEqual([body['severity'], body['title']], [1, 'never-up (127.0.0.1) - Execution failed - alert']);
  assert.deepEqual(Object.keys(body), ['id', 'severity', 'title', 'summary', 'created_at']);
  await director.call(id, 'drain', 'update', emptySpec);
  assert.equal(await director.call(id, 'drain', 'shutdown'), 0);
  await eventually('the message of the shutdown', async () => shutdowns.received[0]);
  assert.deepEqual(
    shutdowns.received.map(([to]) => to),
    [`hm.agent.shutdown.${id}`],
  );
  assert.deepEqual(await server.violations(), []);
});
