import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fromValue, toValue } from '../yaml/yaml-node.ts';
import { withoutCpiCredentials } from './without-cpi-credentials.ts';

const position = { file: 'm.yml', line: 1, column: 1 };
const strip = (value: unknown): string =>
  JSON.stringify(toValue(withoutCpiCredentials(fromValue(value, position))));

const kubeconfig = (change: object = {}): string =>
  JSON.stringify({
    'current-context': 'main',
    clusters: [{ name: 'main', cluster: { server: 'https://a' } }],
    contexts: [{ name: 'main', context: { cluster: 'main', user: 'cpi', namespace: 'bosh' } }],
    users: [{ name: 'cpi', user: { token: 'one' } }],
    ...change,
  });

const properties = {
  kubernetes: {
    kubeconfig: kubeconfig(),
    server: 'https://a',
    ca: 'ca',
    token: 't',
    client_certificate: 'c',
    client_key: 'k',
    namespace: 'bosh',
    context: 'main',
  },
  agent: { mbus: 'https://mbus:secret@0.0.0.0:6868', blobstore: { options: { password: 'secret' } } },
  registry: { url: 'https://r', username: 'u', password: 'p', ca: 'ca' },
  contexts: { east: { kubernetes: { server: 'https://b', token: 'e' } } },
};
const manifest = (changed: object = {}): object => ({
  name: 'm',
  cloud_provider: { mbus: 'https://mbus:secret@10.0.0.1:6868', properties: { ...properties, ...changed } },
});
const kubernetes = (change: object): object =>
  manifest({ kubernetes: { ...properties.kubernetes, ...change } });
const registry = (change: object): object => manifest({ registry: { ...properties.registry, ...change } });
const east = (change: object): object =>
  manifest({ contexts: { east: { kubernetes: { ...properties.contexts.east.kubernetes, ...change } } } });

const otherUsers = { users: [{ name: 'cpi', user: { 'client-key-data': 'two' } }] };

test('other credentials of the CPI give the same manifest', () => {
  const { token: _, ...withoutToken } = properties.kubernetes;
  for (const other of [
    kubernetes({ token: 'other' }),
    manifest({ kubernetes: withoutToken }),
    kubernetes({ client_certificate: 'other', client_key: 'other' }),
    kubernetes({ kubeconfig: kubeconfig(otherUsers) }),
    kubernetes({ kubeconfig: `# another comment\n${kubeconfig(otherUsers)}` }),
    kubernetes({ kubeconfig: JSON.parse(kubeconfig(otherUsers)) }),
    registry({ username: 'other', password: 'other' }),
    east({ token: 'other' }),
  ])
    assert.equal(strip(other), strip(manifest()), JSON.stringify(other));
});

test('any other setting, such as one of the cluster or of the agents, gives another manifest', () => {
  const cluster = (change: object): object => ({
    clusters: [{ name: 'main', cluster: { server: 'https://a', ...change } }],
  });
  const context = (change: object): object => ({
    contexts: [{ name: 'main', context: { cluster: 'main', user: 'cpi', namespace: 'bosh', ...change } }],
  });
  for (const other of [
    kubernetes({ server: 'https://other' }),
    kubernetes({ ca: 'other' }),
    kubernetes({ namespace: 'other' }),
    kubernetes({ context: 'other' }),
    kubernetes({ kubeconfig: kubeconfig(cluster({ server: 'https://other' })) }),
    kubernetes({ kubeconfig: kubeconfig(context({ namespace: 'other' })) }),
    kubernetes({ kubeconfig: kubeconfig({ 'current-context': 'other' }) }),
    kubernetes({ kubeconfig: 'no: [yaml' }),
    manifest({ agent: { ...properties.agent, mbus: 'https://mbus:other@0.0.0.0:6868' } }),
    manifest({ agent: { ...properties.agent, blobstore: { options: { password: 'other' } } } }),
    registry({ url: 'https://other' }),
    east({ server: 'https://other' }),
    { ...manifest(), properties: { kubernetes: { token: 'other' } } },
  ])
    assert.notEqual(strip(other), strip(manifest()), JSON.stringify(other));
});

test('tokens elsewhere in the manifest count, and so do the properties of another CPI', () => {
  const job = (token: string): object => ({ ...manifest(), properties: { kubernetes: { token } } });
  assert.notEqual(strip(job('one')), strip(job('two')));
  const foreign = (password: string): object => ({
    cloud_provider: { properties: { registry: { password } } },
  });
  assert.notEqual(strip(foreign('one')), strip(foreign('two')));
});
