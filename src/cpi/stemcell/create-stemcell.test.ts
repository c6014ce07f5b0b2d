import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Field } from '../../platform/field.ts';
import type { JsonObject } from '../../platform/json.ts';
import { plannedPod } from '../testing/planned-pod.ts';
import { createVmRequest, testCloud } from '../testing/test-cloud.ts';
import { parseVmSpec } from '../vm/vm-spec.ts';
import { assertAgentSupported, createStemcell } from './create-stemcell.ts';
import { parseStemcellCid } from './stemcell-cid.ts';
import { deleteStemcell } from './delete-stemcell.ts';
import { describeStemcell } from './stemcell-manifest.ts';

const image = `registry.example/noble@sha256:${'1'.repeat(64)}`;

test('the cid of a light stemcell ends with the architecture, and its VMs go to nodes of that architecture', async (t) => {
  const { cloud } = await testCloud(t);
  for (const [word, architecture] of [
    ['x86_64', 'amd64'],
    ['amd64', 'amd64'],
    ['aarch64', 'arm64'],
    ['arm64', 'arm64'],
  ] as const) {
    const cid = await createStemcell(cloud, {
      imagePath: '/image',
      cloudProperties: { image_reference: image, architecture: word },
      env: {},
    });
    assert.equal(cid, `${image}#${architecture}`);
    const spec = parseVmSpec(cloud, createVmRequest({ image: cid }));
    assert.deepEqual([spec.image, spec.architecture], [image, architecture]);
    assert.equal(await deleteStemcell(cloud, { stemcellCid: cid }), null);
  }
});

test('a VM goes to any node if the cid, like those of earlier CPIs, has no architecture', async (t) => {
  const { cloud } = await testCloud(t);
  const cid = await createStemcell(cloud, {
    imagePath: '/image',
    cloudProperties: { image_reference: image, architecture: 'ppc64le' },
    env: {},
  });
  assert.equal(cid, image);
  const spec = parseVmSpec(cloud, createVmRequest({ image: cid }));
  assert.deepEqual([spec.image, spec.architecture], [image, undefined]);
});

test('a heavy stemcell of an unsupported architecture is rejected: its image would name another one', async () => {
  const architectureOf = async (architecture: unknown): Promise<string> =>
    (await describeStemcell('/no-manifest/image', { architecture })).architecture;
  assert.deepEqual([await architectureOf(null), await architectureOf('aarch64')], ['amd64', 'arm64']);
  for (const other of ['ppc64le', 'amd46', 64]) {
    await assert.rejects(architectureOf(other), { code: 'INVALID_ARGUMENT', message: /architecture/u });
  }
});

test('the pod goes to nodes of the architecture, unless node_selector names another', () => {
  const selectorOf = (properties: object): unknown =>
    plannedPod({ architecture: 'arm64', properties }).spec.nodeSelector;
  assert.deepEqual(selectorOf({}), { 'kubernetes.io/arch': 'arm64', 'kubernetes.io/os': 'linux' });
  assert.deepEqual(selectorOf({ node_selector: { 'kubernetes.io/arch': 'amd64' } }), {
    'kubernetes.io/arch': 'amd64',
    'kubernetes.io/os': 'linux',
  });
});

test('a stemcell whose agent speaks only HTTPS is rejected under each URL of NATS', () => {
  const assertSupported = (properties: JsonObject, mbus: string): void =>
    assertAgentSupported(properties, { mbus, ntp: [], blobstore: {} });
  const previous = { agent: 'bosh-kubernetes' };
  for (const mbus of ['nats://10.0.0.6:4222', 'tls://10.0.0.6:4222', 'TLS://10.0.0.6:4222']) {
    assert.throws(() => assertSupported(previous, mbus), { code: 'AGENT_NOT_SUPPORTED' }, mbus);
    assertSupported({ ...previous, agent_bus: 'nats' }, mbus);
    assertSupported({}, mbus);
  }
  assertSupported(previous, 'https://mbus:secret@0.0.0.0:6868');
});

test('a text that is not a stemcell cid is rejected', () => {
  for (const cid of [`${image}#`, `${image}#s390x`, `${image}#amd64#arm64`, '#amd64', 'No Image#amd64'])
    assert.throws(
      () => parseStemcellCid(new Field(cid, 'stemcell_cid', 'INVALID_ARGUMENT')),
      { code: 'INVALID_ARGUMENT' },
      cid,
    );
});
