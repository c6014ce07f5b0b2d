import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer } from './testing/test-server.ts';

const hostile = ['../../victim', '..', 'a/b', '/etc', 'a\0b'];

const pod = (names: { pod?: string; container?: string; volume?: string }): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: names.pod ?? 'pod', uid: '../../victim' },
  spec: {
    containers: [{ name: names.container ?? 'main', image: 'image', command: ['true'] }],
    volumes: [{ name: names.volume ?? 'volume', emptyDir: {} }],
  },
});

test('names that become paths on the node cannot contain path segments', async (t) => {
  const server = await startTestServer(t);
  const call: typeof server.call = (path, options) => server.call(path, options);
  const pods = '/api/v1/namespaces/default/pods';
  for (const name of hostile) {
    for (const body of [pod({ pod: name }), pod({ container: name }), pod({ volume: name })]) {
      const { code, text } = await call(pods, { method: 'POST', body });
      assert.equal(code, 422, `${JSON.stringify(name)}: ${text}`);
    }
    const spec = { accessModes: ['ReadWriteOnce'], capacity: { storage: '1Mi' }, local: { path: '/x' } };
    const volume = { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name }, spec };
    assert.equal((await call('/api/v1/persistentvolumes', { method: 'POST', body: volume })).code, 422);
    const config = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'keys' }, data: { [name]: '' } };
    const configMaps = '/api/v1/namespaces/default/configmaps';
    assert.equal((await call(configMaps, { method: 'POST', body: config })).code, 422, name);
  }
});

test('a uid in a request is ignored, because it becomes a directory name on the node', async (t) => {
  const server = await startTestServer(t);
  const call: typeof server.call = (path, options) => server.call(path, options);
  const { code, json } = await call('/api/v1/namespaces/default/pods', { method: 'POST', body: pod({}) });
  assert.equal(code, 201);
  const { metadata } = json() as { metadata: { uid: string } };
  assert.match(metadata.uid, /^[0-9a-f-]{36}$/);
});
