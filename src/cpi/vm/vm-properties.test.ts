import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { isProductError } from '../../errors/product-error.ts';
import { parseConfig } from '../config.ts';
import type { CallContext } from '../cloud.ts';
import type { Location } from '../input.ts';
import { calculateVmCloudProperties } from './calculate-vm-cloud-properties.ts';
import { podPlacement, unlimitedTolerations } from './pod-placement.ts';
import { parseVmProperties, vmPropertyKeys, type VmProperties } from './vm-properties.ts';

const place: Location = { code: 'INVALID_ARGUMENT', path: 'cloud_properties' };
const parse = (value: unknown, config: unknown = {}): VmProperties =>
  parseVmProperties(value, place, parseConfig(config, {}));

const refused = (value: unknown, message: RegExp): void => {
  assert.throws(
    () => parse(value),
    (error) => isProductError(error, 'INVALID_ARGUMENT') && message.test(error.message),
  );
};

suite("a VM's cloud_properties", () => {
  test('nothing given: the defaults of the configuration', () => {
    for (const nothing of [
      undefined,
      null,
      {},
      Object.fromEntries(vmPropertyKeys.map((key) => [key, null])),
    ]) {
      const { compute, placement, access, privilege } = parse(nothing);
      assert.deepEqual(compute.resources, { requests: { cpu: '100m', memory: '128Mi' }, limits: {} });
      assert.equal(compute.ephemeralDisk.sizeMiB, 1024);
      assert.deepEqual(placement.tolerations, []);
      assert.equal(placement.zone, undefined);
      assert.equal(access.serviceAccount, undefined);
      assert.equal(privilege.profile, 'privileged');
    }
  });

  test('cpu and memory are requests; a number is cores or MiB', () => {
    assert.deepEqual(parse({ cpu: 2, memory: 4096 }).compute.resources, {
      requests: { cpu: '2', memory: '4096Mi' },
      limits: {},
    });
    assert.deepEqual(parse({ cpu: '500m', memory: '4Gi' }).compute.resources.requests, {
      cpu: '500m',
      memory: '4Gi',
    });
    const limits = { memory: '8Gi' };
    assert.deepEqual(parse({ memory: 4096, resources: { limits } }).compute.resources.limits, limits);
  });

  test('a thing said twice is refused, not decided', () => {
    refused(
      { cpu: 2, resources: { requests: { cpu: '1' } } },
      /cloud_properties\.cpu .*resources\.requests\.cpu/u,
    );
    refused({ node_selector: { 'topology.kubernetes.io/zone': 'z' } }, /is given as zone/u);
    refused({ node_selector: { 'kubernetes.io/os': 'windows' } }, /is always linux/u);
  });

  test('wrong values are refused with their place', () => {
    for (const cpu of [-1, '', 'lots', {}, true]) refused({ cpu }, /cloud_properties\.cpu/u);
    for (const memory of [0, -1, 1.5, '4 GiB', []]) refused({ memory }, /cloud_properties\.memory/u);
    for (const zone of ['', 'a b', 7, 'x'.repeat(64)]) refused({ zone }, /cloud_properties\.zone/u);
    refused({ node_selector: { 'a b': 'c' } }, /node_selector\.a b/u);
    refused({ node_selector: { disk: 7 } }, /node_selector\.disk/u);
    refused({ tolerations: {} }, /tolerations has to be a list/u);
    refused({ tolerations: [{ operator: 'Exists' }] }, /tolerations\.0\.key/u);
    refused({ tolerations: [{ key: 'constructor', effect: 'Sometimes' }] }, /tolerations\.0\.effect/u);
    refused({ tolerations: [{ key: 'k', operator: 'Like' }] }, /tolerations\.0\.operator/u);
    refused({ tolerations: [{ key: 'k', operator: 'Exists', value: 'v' }] }, /tolerations\.0\.value/u);
    refused({ tolerations: [{ key: 'k', toleration_seconds: 3 }] }, /toleration_seconds/u);
    refused({ tolerations: [{ key: 'k', tolerationSeconds: 3 }] }, /"tolerationSeconds"/u);
    refused({ tolerations: [{ key: 'node.kubernetes.io/out-of-service' }] }, /lost node/u);
    refused({ tolerations: [{ key: 'node.kubernetes.io/not-ready' }] }, /every VM tolerates/u);
  });

  test('a profile: its own, that of the configuration, no other', () => {
    const config = { defaults: { profile: 'baseline' } };
    assert.equal(parse({}, config).privilege.profile, 'baseline');
    assert.equal(parse({ profile: 'sys-admin' }, config).privilege.profile, 'sys-admin');
    for (const profile of ['', 'root', 'Baseline', 7, true, {}])
      refused({ profile }, /cloud_properties\.profile/u);
    assert.throws(
      () => parseConfig({ defaults: { profile: 'root' } }, {}),
      (error) =>
        isProductError(error, 'INVALID_CONFIG') && /defaults\.profile .*sys-admin/u.test(error.message),
    );
  });

  test('any other key is refused by name', () => {
    fc.assert(
      fc.property(
        fc.string().filter((key) => !vmPropertyKeys.includes(key) && key !== '__proto__'),
        (key) => {
          assert.throws(
            () => parse({ [key]: 1 }),
            (error) => isProductError(error, 'INVALID_ARGUMENT') && error.message.includes(`"${key}"`),
          );
        },
      ),
    );
  });

  test('calculate_vm_cloud_properties refuses what is no size', async () => {
    const nowhere = undefined as unknown as CallContext;
    const good = { ram: 1, cpu: 1, ephemeral_disk_size: 1 };
    for (const bad of [null, {}, [], 7, { ...good, ram: 0 }, { ...good, cpu: 1.5 }, { ...good, gpu: 1 }]) {
      await assert.rejects(calculateVmCloudProperties(nowhere, [bad]), (error) =>
        isProductError(error, 'INVALID_ARGUMENT'),
      );
    }
  });
});

test('placement in the pod: zone, labels, tolerations, priority, runtime', () => {
  const { placement } = parse({
    zone: 'z1',
    node_selector: { disk: 'ssd' },
    tolerations: [{ key: 'dedicated', value: 'bosh', effect: 'NoExecute', toleration_seconds: 60 }],
    priority_class: 'high',
    runtime_class: 'kata',
  });
  assert.deepEqual(podPlacement(placement, { group: undefined }), {
    nodeSelector: { disk: 'ssd', 'kubernetes.io/os': 'linux', 'topology.kubernetes.io/zone': 'z1' },
    tolerations: [
      ...unlimitedTolerations,
      { key: 'dedicated', operator: 'Equal', value: 'bosh', effect: 'NoExecute', tolerationSeconds: 60 },
    ],
    priorityClassName: 'high',
    runtimeClassName: 'kata',
  });
});

test('placement of a group: apart by node and, without an AZ, by zone; softly, so that a group larger than the cluster runs', () => {
  const labelSelector = { matchLabels: { 'bosh.cloudfoundry.org/group': 'd-router' } };
  const spread = (topologyKey: string): object => ({
    ...{ maxSkew: 1, topologyKey, whenUnsatisfiable: 'ScheduleAnyway', labelSelector },
  });
  const apart = { weight: 100, podAffinityTerm: { topologyKey: 'kubernetes.io/hostname', labelSelector } };
  for (const [properties, keys] of [
    [{}, ['kubernetes.io/hostname', 'topology.kubernetes.io/zone']],
    [{ zone: 'z1' }, ['kubernetes.io/hostname']],
  ] as const) {
    const { affinity, topologySpreadConstraints } = podPlacement(parse(properties).placement, {
      group: 'd-router',
    });
    assert.deepEqual(affinity, {
      podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [apart] },
    });
    assert.deepEqual(topologySpreadConstraints, keys.map(spread));
  }
});
