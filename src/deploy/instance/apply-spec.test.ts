import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applySpec, instanceAddress } from './apply-spec.ts';

const identity = {
  deployment: 'tiny-env',
  name: 'hello',
  networks: { default: { type: 'manual', ip: '127.0.0.1' } },
};

test('the spec has only the networks if there are no jobs', () => {
  assert.deepEqual(applySpec(identity), {
    deployment: 'tiny-env',
    name: 'hello',
    index: 0,
    id: '0',
    az: 'unknown',
    packages: {},
    networks: identity.networks,
    job: { name: 'hello', templates: [] },
    rendered_templates_archive: { blobstore_id: '', sha1: '' },
    configuration_hash: 'unused-configuration-hash',
  });
});

test('jobs have fingerprints, and packages and templates have blobs', () => {
  const spec = applySpec(identity, {
    jobs: [{ name: 'app', fingerprint: 'f' }],
    packages: [{ name: 'lib', version: 'v', sha1: 's', blobstoreId: 'b' }],
    templates: { blobstoreId: 't', sha1: 'sha256:x' },
  });

  assert.deepEqual(spec['job'], {
    name: 'hello',
    templates: [{ name: 'app', version: 'f', sha1: '', blobstore_id: '' }],
  });
  assert.deepEqual(spec['packages'], { lib: { name: 'lib', version: 'v', sha1: 's', blobstore_id: 'b' } });
  assert.deepEqual(spec['rendered_templates_archive'], { blobstore_id: 't', sha1: 'sha256:x' });
});

test('the address is the static one, the reported one of a dynamic network, or that of the gateway network', () => {
  const manual = { type: 'manual', ip: '10.0.0.1' };

  assert.equal(instanceAddress({ a: manual }, {}), '10.0.0.1');
  assert.equal(instanceAddress({ a: { type: 'dynamic' } }, { a: '10.0.0.9' }), '10.0.0.9');
  assert.equal(instanceAddress({ a: { type: 'dynamic' } }, {}), undefined);
  assert.equal(
    instanceAddress(
      { a: { type: 'dynamic', default: ['dns'] }, b: { ...manual, default: ['gateway'] } },
      { a: 'x' },
    ),
    '10.0.0.1',
  );
});
