import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'node:test';
import { isProductError } from '../../errors/product-error.ts';
import { deepMerge } from './layers.ts';
import { parseConfig } from './config.ts';
import type { JsonObject } from '../../platform/json.ts';

const pemOf = (label: string): string => `-----BEGIN ${label}-----\nMAA=\n-----END ${label}-----\n`;
const pem = pemOf('CERTIFICATE');

const invalid = (message: RegExp) => (error: unknown) => {
  assert.ok(isProductError(error, 'INVALID_CONFIG'), String(error));
  assert.match(error.message, message);
  return true;
};

test('the context wins key by key; a kubeconfig replaces the previous one completely', () => {
  const file = {
    kubernetes: {
      kubeconfig: { 'current-context': 'a', users: [] },
      namespace: 'one',
      kubelet_root_dir: '/k/',
    },
    agent: { mbus: 'nats://file' },
  };
  const context = {
    kubernetes: { kubeconfig: { contexts: [] }, namespace: 'two' },
    director_uuid: 'x',
    other: 1,
  };
  const config = parseConfig(file, context);
  assert.deepEqual(config.kubernetes.kubeconfig, { contexts: [] });
  assert.equal(config.kubernetes.namespace, 'two');
  assert.equal(config.kubernetes.kubeletRootDirectory, '/k');
  assert.equal(config.agent.mbus, 'nats://file');
});

test('the context wins at every depth, and other keys keep their values', () => {
  const east = {
    kubernetes: { namespace: 'east-ns', disk_namespace: 'east-disks' },
    deadlines: { release: 3 },
  };
  const file = {
    agent: { blobstore: { provider: 'dav', options: { endpoint: 'https://blobs', user: 'file' } } },
    defaults: { resources: { requests: { cpu: '2', memory: '1Gi' }, limits: { cpu: '4' } } },
    contexts: { east, west: {} },
  };
  const context = {
    agent: { blobstore: { options: { user: 'context' } } },
    defaults: { resources: { requests: { memory: '3Gi' } } },
    contexts: { east: { kubernetes: { namespace: 'other' } } },
  };
  const { agent, defaults, kubernetes, deadlines } = parseConfig(file, context, 'east');
  assert.deepEqual(agent.blobstore, {
    provider: 'dav',
    options: { endpoint: 'https://blobs', user: 'context' },
  });
  assert.deepEqual(defaults.resources, {
    requests: { cpu: '2', memory: '3Gi' },
    limits: { cpu: '4' },
  });
  assert.deepEqual([kubernetes.namespace, kubernetes.diskNamespace], ['other', 'east-disks']);
  assert.equal(deadlines.release, 3);
  assert.equal(parseConfig(file, context, 'west').kubernetes.namespace, undefined);
});

test('an unknown key is rejected by its name, a wrong value by its path', () => {
  const cases: [unknown, RegExp][] = [
    [{ surprise: 1 }, /"surprise"/u],
    [{ kubernetes: { attach: 'cold' } }, /kubernetes\.attach must be/u],
    [{ kubernetes: { namespace: 7 } }, /config\.kubernetes\.namespace/u],
    [{ kubernetes: { kubelet_root_dir: 'relative' } }, /kubelet_root_dir/u],
    [{ kubernetes: { kubelet_root_dir: '/a/../b' } }, /kubelet_root_dir/u],
    [{ kubernetes: [] }, /config\.kubernetes /u],
    [{ agent: { ntp: 'pool' } }, /config\.agent\.ntp/u],
    [{ defaults: { resources: { requests: { cpu: '1 core' } } } }, /requests\.cpu/u],
    [{ defaults: { ephemeral_disk: { size: -1 } } }, /ephemeral_disk\.size/u],
    [{ kubernetes: { kubeconfig: {}, server: 'https://h' } }, /two ways/u],
    [{ kubernetes: { context: 'c' } }, /config\.kubernetes\.context .*there is none/u],
    [{ kubernetes: { token: 'secret' } }, /config\.kubernetes\.token needs kubernetes\.server/u],
    [{ kubernetes: { server: 'http://h' } }, /must be an https URL/u],
    [{ kubernetes: { server: 'https://user:secret@h' } }, /host, port and path only/u],
    [{ kubernetes: { server: 'https://h', client_key: pem } }, /only one of client_certificate/u],
    [{ kubernetes: { server: 'https://h', ca: 'secret' } }, /ca does not hold PEM/u],
    [{ env: { https_proxy: 7 } }, /config\.env\.https_proxy/u],
    [{ env: { all_proxy: 'x' } }, /"all_proxy"/u],
    [{ deadlines: { create_vm: '10' } }, /deadlines\.create_vm/u],
    [{ deadlines: { soon: 10 } }, /"soon"/u],
    [[], /config /u],
  ];
  for (const [file, message] of cases) {
    assert.throws(() => parseConfig(file, {}), invalid(message));
    assert.throws(
      () => parseConfig(file, {}),
      (error) => !String(error).includes('secret'),
    );
  }
});

test('a named context is an entry of contexts, which wins, or one of the kubeconfig, which keeps its namespace', () => {
  const file = {
    kubernetes: { kubeconfig: {}, namespace: 'base', kubelet_root_dir: '/k' },
    contexts: { east: { kubernetes: { namespace: 'east-ns' }, deadlines: { release: 3 } } },
  };
  const east = parseConfig(file, { kubernetes: { namespace: 'of the request' } }, 'east');
  assert.equal(east.kubernetes.namespace, 'east-ns');
  assert.equal(east.kubernetes.context, undefined);
  assert.equal(east.kubernetes.kubeletRootDirectory, '/k');
  assert.equal(east.deadlines.release, 3);
  const other = parseConfig(file, {}, 'arn:of/another').kubernetes;
  assert.deepEqual(
    [other.context, other.namespace, other.defaultNamespace],
    ['arn:of/another', undefined, 'base'],
  );
  assert.equal(parseConfig(file, {}).kubernetes.namespace, 'base');
  assert.throws(() => parseConfig({}, {}, 'west'), invalid(/"west"/u));
  assert.throws(
    () => parseConfig({ contexts: { east: { contexts: {} } } }, {}),
    invalid(/contexts\.east.*"contexts"/u),
  );
  assert.throws(() => parseConfig({ contexts: { east: 7 } }, {}), invalid(/config\.contexts\.east /u));
});

test('a later layer with cluster access replaces the earlier access completely; single settings of it can be changed', () => {
  const file = { kubernetes: { server: 'https://one', token: 'first', ca: pem, namespace: 'n' } };
  const other = parseConfig(file, { kubernetes: { kubeconfig: { users: [] } } }).kubernetes;
  assert.deepEqual([other.kubeconfig, other.server, other.namespace], [{ users: [] }, undefined, 'n']);
  const second = parseConfig(file, { kubernetes: { server: 'https://two/' } }).kubernetes;
  assert.deepEqual(
    [second.server?.url, second.server?.token, second.server?.ca],
    ['https://two', undefined, undefined],
  );
  const renewed = parseConfig(file, { kubernetes: { token: 'second' } }).kubernetes;
  assert.deepEqual([renewed.server?.url, renewed.server?.token], ['https://one', 'second']);
  const east = (kubernetes: object): JsonObject => ({ contexts: { east: { kubernetes } } });
  const inEast = parseConfig(east(file.kubernetes), east({ server: 'https://two' }), 'east').kubernetes;
  assert.deepEqual(
    [inEast.server?.url, inEast.server?.token, inEast.namespace],
    ['https://two', undefined, 'n'],
  );
  const ofUsers = parseConfig(east(file.kubernetes), east({ kubeconfig: { users: [] } }), 'east').kubernetes;
  assert.deepEqual([ofUsers.kubeconfig, ofUsers.server], [{ users: [] }, undefined]);
  const pod = parseConfig({ kubernetes: { kubeconfig: {} } }, { kubernetes: { kubeconfig: null } });
  assert.deepEqual([pod.kubernetes.kubeconfig, pod.kubernetes.server], [undefined, undefined]);
});

test('a merge has every key of both, the second wins, and prototypes stay as they are', () => {
  const json = fc.dictionary(fc.string(), fc.oneof(fc.integer(), fc.dictionary(fc.string(), fc.integer())));
  fc.assert(
    fc.property(json, json, (one, other) => {
      const merged = deepMerge(one, other);
      for (const key of Object.keys({ ...one, ...other })) assert.ok(Object.hasOwn(merged, key));
      for (const [key, value] of Object.entries(other)) {
        if (typeof value === 'number') assert.equal(merged[key], value);
      }
    }),
  );
  const hostile = JSON.parse('{"kubernetes": {"__proto__": {"polluted": true}}}') as JsonObject;
  deepMerge({ kubernetes: {} }, hostile);
  assert.equal('polluted' in {}, false);
});

test('a merge has every leaf of both, however deep, and the second wins', () => {
  const key = fc.constantFrom('a', 'b', 'c');
  const tree = fc.dictionary(key, fc.dictionary(key, fc.dictionary(key, fc.integer())));
  fc.assert(
    fc.property(tree, tree, (one, other) => {
      assert.deepEqual(leavesOf(deepMerge(one, other)), { ...leavesOf(one), ...leavesOf(other) });
    }),
  );
});

/** Returns each value that is not an object, by its path. */
function leavesOf(tree: object): Record<string, unknown> {
  const leaves = Object.entries(tree).flatMap(([key, value]: [string, unknown]) =>
    typeof value === 'object' && value !== null
      ? Object.entries(leavesOf(value)).map(([path, leaf]) => [`${key}.${path}`, leaf])
      : [[key, value]],
  );
  return Object.fromEntries(leaves);
}
