import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Deployment } from '../../../kubernetes/workload.ts';
import { startTestServer } from '../testing/test-server.ts';
import type { Answer, TestServer } from '../testing/test-server.ts';

const path = '/apis/apps/v1/namespaces/bosh/deployments/web';
const headers = { 'content-type': 'application/apply-patch+yaml' };

const deployment = (spec: object, metadata: object = {}): object => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', ...metadata },
  spec,
});
const container = (fields: object = {}): object => ({ name: 'web', image: 'web:1', ...fields });
const whole = (containers: readonly object[], more: object = {}): object => ({
  selector: { matchLabels: { app: 'web' } },
  template: { metadata: { labels: { app: 'web' } }, spec: { containers } },
  ...more,
});
const only = (fields: object): object => deployment(fields);

function apply(server: TestServer, body: unknown, query = 'fieldManager=one'): Promise<Answer> {
  return server.call(`${path}?${query}`, { method: 'PATCH', body, headers });
}

const parse = ({ text }: Answer): Deployment => JSON.parse(text) as Deployment;

test('the first apply makes the object, the same again changes nothing', async (t) => {
  const server = await startTestServer(t);
  const body = deployment(whole([container()], { replicas: 2 }));
  const made = await apply(server, body);
  assert.equal(made.code, 201);
  const again = await apply(server, body);
  assert.equal(again.code, 200);
  assert.equal(parse(again).metadata.resourceVersion, parse(made).metadata.resourceVersion);
  assert.equal(parse(made).spec.revisionHistoryLimit, 10);
  const [entry] = parse(made).metadata.managedFields as [
    { manager: string; fieldsV1: Record<string, unknown> },
  ];
  assert.equal(entry.manager, 'one');
  assert.deepEqual(entry.fieldsV1['f:spec'], {
    'f:replicas': {},
    'f:selector': { 'f:matchLabels': { 'f:app': {} } },
    'f:template': {
      'f:metadata': { 'f:labels': { 'f:app': {} } },
      'f:spec': { 'f:containers': { 'k:{"name":"web"}': { '.': {}, 'f:image': {}, 'f:name': {} } } },
    },
  });
});

test('what a manager no longer applies goes, what others have stays', async (t) => {
  const server = await startTestServer(t);
  const labels = { labels: { mine: 'a', both: 'b' } };
  await apply(server, deployment(whole([container(), { name: 'beside', image: 'b:1' }]), labels));
  const other = { ...deployment({}), metadata: { name: 'web', labels: { both: 'b' } }, spec: undefined };
  assert.equal((await apply(server, other, 'fieldManager=two')).code, 200);
  const after = parse(await apply(server, deployment(whole([container()]))));
  assert.deepEqual(after.metadata.labels, { both: 'b' });
  assert.deepEqual(
    after.spec.template.spec.containers.map(({ name }) => name),
    ['web'],
  );
  // a default that nobody applied
  assert.equal(after.spec.replicas, 1);
});

test('a field of another manager is a conflict, unless it has the same value or is taken by force', async (t) => {
  const server = await startTestServer(t);
  await apply(server, deployment(whole([container()], { replicas: 2 })));
  assert.equal((await apply(server, only({ replicas: 2 }), 'fieldManager=two')).code, 200);
  const refused = await apply(server, only({ replicas: 3 }), 'fieldManager=two');
  assert.equal(refused.code, 409);
  assert.match(refused.text, /Apply failed with 1 conflict: conflict with \\"one\\": \.spec\.replicas/);
  const taken = await apply(server, only({ replicas: 3 }), 'fieldManager=two&force=true');
  assert.equal(parse(taken).spec.replicas, 3);
  // no more one's: it may leave it out without an effect
  assert.equal(parse(await apply(server, deployment(whole([container()])))).spec.replicas, 3);
});

test('an update takes what it changes from whoever applied it', async (t) => {
  const server = await startTestServer(t);
  await apply(server, deployment(whole([container()], { replicas: 2 })));
  const patched = await server.call(`${path}?fieldManager=hand`, {
    method: 'PATCH',
    body: { spec: { replicas: 5 } },
    headers: { 'content-type': 'application/merge-patch+json' },
  });
  assert.equal(patched.code, 200);
  const refused = await apply(server, deployment(whole([container()], { replicas: 2 })));
  assert.equal(refused.code, 409);
  assert.match(refused.text, /conflict with \\"hand\\" using apps\/v1/);
});

test('what was there before the first apply counts as somebody’s', async (t) => {
  const server = await startTestServer(t);
  const made = await server.call('/apis/apps/v1/namespaces/bosh/deployments', {
    method: 'POST',
    body: deployment(whole([container()], { replicas: 2 })),
  });
  assert.equal(made.code, 201);
  const refused = await apply(server, only({ replicas: 3 }));
  assert.equal(refused.code, 409);
  assert.match(refused.text, /before-first-apply/);
});

test('without a manager, with unknown fields, with managedFields, with a key twice: refused', async (t) => {
  const server = await startTestServer(t);
  const good = deployment(whole([container()]));
  assert.equal((await apply(server, good, '')).code, 422);
  const unknown = await apply(server, deployment({ ...whole([container()]), unknown: 1 }));
  assert.equal(unknown.code, 500);
  assert.match(unknown.text, /\.spec\.unknown: field not declared in schema/);
  const managed = deployment(whole([container()]), { managedFields: [{}] });
  assert.equal((await apply(server, managed)).code, 400);
  const twice =
    'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 1\n  replicas: 2\n';
  const strict = await apply(server, twice, 'fieldManager=one&fieldValidation=Strict');
  assert.equal(strict.code, 400);
  assert.match(strict.text, /line 6: key \\"replicas\\" already set in map/);
  assert.equal((await server.call(path)).code, 404);
});

test('an object of another name or namespace than the URL is refused', async (t) => {
  const server = await startTestServer(t);
  for (const metadata of [{ name: 'other' }, { namespace: 'other' }]) {
    const { code, text } = await apply(server, deployment(whole([container()]), metadata));
    assert.equal(code, 400);
    assert.match(text, /does not match the (?:name on the URL|namespace sent on the request)/u);
  }
});

test('a dry run says what would be and stores nothing', async (t) => {
  const server = await startTestServer(t);
  const dry = await apply(server, deployment(whole([container()])), 'fieldManager=one&dryRun=All');
  assert.equal(dry.code, 201);
  assert.equal((await server.call(path)).code, 404);
});
