import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  readPublicKeys,
  readSigningKey,
  readVolumeId,
  signVolumeId,
  verifyVolumeId,
} from './signed-volume-id.ts';
import { newPair } from './testing/new-pair.ts';

const { key, keys, publicPem } = newPair();

const guid = fc.uuid();
const pathPart = fc
  .string({ minLength: 1, maxLength: 12, unit: 'grapheme' })
  .map((text) => text.replaceAll('/', '-'));
const mountConfig = fc
  .record(
    {
      source: pathPart.map((part) => `nfs://host/${part}`),
      mount: pathPart.map((part) => `/${part}`),
      uid: fc.nat().map(String),
      version: fc.constantFrom('3', '4.1'),
      readonly: fc.constant('true'),
      username: pathPart,
      password: fc.oneof(pathPart, fc.constant('((credhub:/volumes/space/share))')),
    },
    { requiredKeys: ['source', 'mount'] },
  )
  .map((config): Record<string, string> => config);

function signed(instanceId: string, appGuid: string, config: Record<string, string>): string {
  const mode = config['readonly'] === 'true' ? 'r' : 'rw';
  return signVolumeId({ instanceId, appGuid, containerDir: config['mount'] ?? '', mode }, config, key);
}

const isRefused = (volumeId: string, config: Record<string, unknown>): boolean =>
  'refused' in verifyVolumeId(volumeId, config, keys);

test('property: a signed volume is verified, and its id is one path segment on every cell', () => {
  fc.assert(
    fc.property(guid, guid, mountConfig, (instanceId, appGuid, config) => {
      const volumeId = signed(instanceId, appGuid, config);
      assert.deepEqual(verifyVolumeId(volumeId, config, keys), {
        instanceId,
        appGuid,
        containerDir: config['mount'],
        mode: config['readonly'] === 'true' ? 'r' : 'rw',
      });
      const parts = readVolumeId(volumeId);
      assert.deepEqual([parts?.instanceId, parts?.appGuid, parts?.keyId], [instanceId, appGuid, key.id]);
      // volman replaces underscores, and joins the ids with one
      assert.match(volumeId, /^[A-Za-z0-9.-]+$/u);
      assert.ok(`${volumeId}_${'c'.repeat(36)}_mapfs`.length <= 255);
      assert.ok(!volumeId.includes('..'));
    }),
  );
});

test('property: options in another order, a rotated password and keys of the cell keep the signature valid', () => {
  fc.assert(
    fc.property(mountConfig, fc.string({ minLength: 1 }), (config, password) => {
      const volumeId = signed('i', 'a', { ...config, password: 'clear' });
      const sent = {
        _workload_type: 'lrp',
        ...Object.fromEntries(Object.entries(config).toReversed()),
        password: `x${password}`,
      };
      assert.ok(!isRefused(volumeId, sent));
    }),
  );
});

test('property: any one change of the signed values is refused', () => {
  fc.assert(
    fc.property(guid, guid, mountConfig, fc.nat(), (instanceId, appGuid, config, seed) => {
      const volumeId = signed(instanceId, appGuid, config);
      const names = Object.keys(config).filter((name) => name !== 'password');
      const name = names[seed % names.length] ?? '';
      assert.ok(isRefused(volumeId, { ...config, [name]: `${config[name]}x` }), `${name} changed`);
      const { [name]: _, ...without } = config;
      assert.ok(isRefused(volumeId, without), `${name} removed`);
      assert.ok(isRefused(volumeId, { ...config, [name]: [config[name]] }), `${name} as a list`);
      for (const added of ['gid', 'domain', 'ro', 'cache', 'experimental'])
        assert.ok(isRefused(volumeId, { ...config, [added]: 'true' }), `${added} added`);
      const at = seed % volumeId.length;
      const other = volumeId[at] === '0' ? '1' : '0';
      const altered = `${volumeId.slice(0, at)}${other}${volumeId.slice(at + 1)}`;
      assert.ok(isRefused(altered, config), altered);
    }),
  );
});

test('a secret reference is signed, and no other reference and no password replaces it', () => {
  const config = { source: '//h/s', mount: '/m', username: 'u', password: '((credhub:/volumes/one/share))' };
  const volumeId = signed('i', 'a', config);
  assert.ok(!isRefused(volumeId, config));
  for (const password of ['((credhub:/volumes/two/share))', '((file:/volumes/one/share))', 'clear'])
    assert.ok(isRefused(volumeId, { ...config, password }), password);
  const clear = { ...config, password: 'clear' };
  assert.ok(isRefused(signed('i', 'a', clear), config), 'a reference in place of a clear password');
  const { password: _, ...without } = config;
  assert.ok(isRefused(signed('i', 'a', clear), without), 'no password');
});

test('both keys are valid during a rotation, and a removed one is not', () => {
  const next = newPair();
  const config = { source: 'nfs://h/p', mount: '/m' };
  const old = signed('i', 'a', config);
  const mount = { instanceId: 'i', appGuid: 'a', containerDir: '/m', mode: 'rw' } as const;
  const renewed = signVolumeId(mount, config, next.key);
  const both = readPublicKeys(`${next.publicPem}\n${publicPem}`);
  assert.ok(!('problem' in both));
  for (const volumeId of [old, renewed]) assert.deepEqual(verifyVolumeId(volumeId, config, both), mount);
  const verified = verifyVolumeId(old, config, next.keys);
  assert.equal('refused' in verified && verified.refused, 'unknown key');
});

test('an unsigned id is reported as such, and a number of more than 64 bytes is not a signature', () => {
  const config = { source: 'nfs://h/p', mount: '/m' };
  const long = signed('i', 'a', config).replace(/[^.]+$/u, 'z'.repeat(100));
  for (const volumeId of ['', 'instance-d6d375f5d6d375f5d6d375f5d6d375f5', `${long}0`, long]) {
    const verified = verifyVolumeId(volumeId, config, keys);
    assert.equal('refused' in verified && verified.refused, 'unsigned', volumeId);
  }
});

test('invalid keys, or keys of another type, are errors that do not quote them', () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const ec = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  for (const pem of ['', 'secret', ec]) {
    const read = readSigningKey(pem);
    assert.ok('problem' in read && !read.problem.includes('secret'));
  }
  const ecPublic = publicKey.export({ type: 'spki', format: 'pem' }).toString();
  for (const pems of ['', 'x', ecPublic, `${publicPem}x`, `${publicPem}${ecPublic}`])
    assert.ok('problem' in readPublicKeys(pems), pems);
});
