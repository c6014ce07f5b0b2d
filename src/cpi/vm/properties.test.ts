import assert from 'node:assert/strict';
import fc from 'fast-check';
import { suite, test } from 'node:test';
import { isProductError } from '../../errors/product-error.ts';
import { parseConfig } from '../config/config.ts';
import type { CallContext } from '../call.ts';
import { Field } from '../../platform/field.ts';
import { calculateVmCloudProperties } from './calculate-vm-cloud-properties.ts';
import { podPlacement } from './pod.ts';
import { unlimitedTolerations } from '../objects/layout.ts';
import { parseVmProperties, vmPropertyKeys, type VmProperties } from './properties.ts';
import { profiles } from '../config/profile.ts';
import type { Resources } from '../config/resources.ts';
import { parseMilli } from '../../kubernetes/types/quantity.ts';
import type { PersistentVolumeClaim } from '../../kubernetes/types/storage.ts';
import { plannedClaims, plannedPod, vmPlan } from '../testing/planned-pod.ts';
import { evaluatePod } from '../../../embedded-cluster/api-server/admission/pod-security/security-policy.ts';
import type { Pod } from '../../kubernetes/types/pod.ts';
import type { AttachStrategy } from '../config/cluster-access.ts';
import { verbOf } from '../testing/verb-of.ts';

const parse = (value: unknown, config: unknown = {}): VmProperties =>
  parseVmProperties(new Field(value, 'cloud_properties', 'INVALID_ARGUMENT'), parseConfig(config, {}));

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
    refused({ tolerations: {} }, /tolerations must be a list/u);
    refused({ tolerations: [{ operator: 'Exists' }] }, /tolerations\[0\]\.key/u);
    refused({ tolerations: [{ key: 'constructor', effect: 'Sometimes' }] }, /tolerations\[0\]\.effect/u);
    refused({ tolerations: [{ key: 'k', operator: 'Like' }] }, /tolerations\[0\]\.operator/u);
    refused({ tolerations: [{ key: 'k', operator: 'Exists', value: 'v' }] }, /tolerations\[0\]\.value/u);
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
      await assert.rejects(verbOf('calculate_vm_cloud_properties')(nowhere, [bad]), (error) =>
        isProductError(error, 'INVALID_ARGUMENT'),
      );
    }
  });
});

test('placement in the pod: zone, labels, tolerations, priority, runtime', () => {
  const properties = {
    zone: 'z1',
    node_selector: { disk: 'ssd' },
    tolerations: [{ key: 'dedicated', value: 'bosh', effect: 'NoExecute', toleration_seconds: 60 }],
    priority_class: 'high',
    runtime_class: 'kata',
  };
  assert.deepEqual(podPlacement(vmPlan({ properties })), {
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
    const { affinity, topologySpreadConstraints } = podPlacement(vmPlan({ properties, group: 'd-router' }));
    assert.deepEqual(affinity, {
      podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [apart] },
    });
    assert.deepEqual(topologySpreadConstraints, keys.map(spread));
  }
});

const own = { cpu: '100m', memory: '128Mi', 'ephemeral-storage': '1024Mi' };

/** Returns the resources of the VM's container. */
function resourcesOf(properties: unknown, defaults: unknown = {}): Partial<Resources> {
  const config = { defaults: { resources: defaults } };
  return plannedPod({ properties, config }).spec.containers[0]?.resources ?? {};
}

suite('what a VM asks for wins over a default that contradicts it', () => {
  const limits = { cpu: '1', memory: '1Gi' };

  test('a default limit below what is requested is raised to it, the others stay', () => {
    assert.deepEqual(resourcesOf({}, { limits }), { requests: own, limits });
    assert.deepEqual(resourcesOf({ cpu: 0.5, memory: 2048 }, { limits }), {
      requests: { ...own, cpu: '0.5', memory: '2048Mi' },
      limits: { cpu: '1', memory: '2048Mi' },
    });
  });

  test('a default request above the limit is lowered to it', () => {
    const small = { requests: { ...own, memory: '64Mi' }, limits: { memory: '64Mi' } };
    const asked = { resources: { limits: small.limits } };
    assert.deepEqual(resourcesOf(asked, { requests: { memory: '1Gi' } }), small);
    assert.deepEqual(resourcesOf({}, { limits: small.limits }), small);
  });

  test("a limit on the node's disk leaves room for the ephemeral disk", () => {
    const properties = { ephemeral_disk: { size: 4096 } };
    const { limits: found } = resourcesOf(properties, { limits: { 'ephemeral-storage': '2Gi' } });
    assert.deepEqual(found, { 'ephemeral-storage': '4096Mi' });
  });

  test('a contradiction in one place is refused', () => {
    const contradiction = { requests: { memory: '2Gi' }, limits: { memory: '1Gi' } };
    const rejected = (code: 'INVALID_ARGUMENT' | 'INVALID_CONFIG', message: RegExp) => (error: unknown) =>
      isProductError(error, code) && message.test(error.message);
    const message = /resources\.limits\.memory is 1Gi, less than the 2Gi/u;
    assert.throws(() => resourcesOf({ resources: contradiction }), rejected('INVALID_ARGUMENT', message));
    assert.throws(() => resourcesOf({}, contradiction), rejected('INVALID_CONFIG', message));
    assert.throws(
      () => resourcesOf({ cpu: 2, resources: { limits: { cpu: '1500m' } } }),
      rejected('INVALID_ARGUMENT', /resources\.limits\.cpu is 1500m, less than the 2/u),
    );
  });
});

test('calculate_vm_cloud_properties gives what create_vm turns back into exactly that, whatever the defaults', async () => {
  // the method sends no request, so it needs no context
  const nowhere = undefined as unknown as CallContext;
  const size = fc.oneof(fc.integer({ min: 1, max: 8192 }), fc.integer({ min: 1, max: 2 ** 40 }));
  const quantity = fc.oneof(fc.constantFrom('1m', '2.5', '512Mi', '3G'), size.map(String));
  const name = fc.constantFrom('cpu', 'memory', 'ephemeral-storage', 'example.com/gpu');
  const resources = fc
    .record({ requests: fc.dictionary(name, quantity), limits: fc.dictionary(name, quantity) })
    .filter(({ requests, limits }) => exceeding({ requests, limits }).length === 0);
  const ephemeralDisk = fc.record({ size, storage_class: fc.constant('fast') }, { requiredKeys: [] });
  const defaults = fc.record({ resources, ephemeral_disk: ephemeralDisk });
  await fc.assert(
    fc.asyncProperty(fc.tuple(size, size, size), defaults, async ([ram, cpu, disk], given) => {
      const asked = { ram, cpu, ephemeral_disk_size: disk };
      const calculated = await calculateVmCloudProperties(nowhere, { requirements: asked });
      const properties: unknown = JSON.parse(JSON.stringify(calculated));
      const planned = { properties, config: { defaults: given } };
      const { containers, volumes } = plannedPod(planned).spec;
      const { requests = {}, limits = {} } = containers[0]?.resources ?? {};
      assert.equal(parseMilli(requests['cpu'] ?? ''), BigInt(cpu) * 1000n);
      assert.equal(parseMilli(requests['memory'] ?? ''), mebibytes(ram));
      const template = volumes?.find((volume) => volume.name === 'data')?.ephemeral?.volumeClaimTemplate;
      const data = template === undefined ? requests['ephemeral-storage'] : storageOf(template);
      assert.equal(parseMilli(data ?? ''), mebibytes(disk));
      assert.equal(template?.spec['storageClassName'], given.ephemeral_disk.storage_class);
      const [, claim] = plannedClaims(planned);
      assert.equal(parseMilli(storageOf(claim) ?? ''), mebibytes(disk));
      assert.deepEqual(exceeding({ requests, limits }), []);
      assert.deepEqual(Object.keys(limits).toSorted(), Object.keys(given.resources.limits).toSorted());
    }),
  );
});

/** Returns the size in thousandths of a byte, in which quantities are compared. */
const mebibytes = (size: number): bigint => BigInt(size) * 1024n ** 2n * 1000n;

/** Returns the storage that a claim, or the template of one, requests. */
const storageOf = (
  claim: { spec: Pick<PersistentVolumeClaim['spec'], 'resources'> } | undefined,
): string | undefined => claim?.spec.resources?.requests?.['storage'];

/** Returns the names of the requests that are above their limit, which an API server rejects. */
const exceeding = ({ requests, limits }: Resources): string[] =>
  Object.keys(limits).filter(
    (name) => (parseMilli(requests[name] ?? '0') ?? 0n) > (parseMilli(limits[name] ?? '') ?? -1n),
  );

const podWith = (profile: string, attach: AttachStrategy): Pod =>
  plannedPod({
    attach,
    group: 'g',
    properties: { profile, ephemeral_disk: { size: 10, storage_class: 'fast' }, service_account: 'jobs' },
  });

test('Pod Security baseline has nothing against a baseline VM, and names what is against it in the others', () => {
  const against = (profile: string, attach: AttachStrategy = 'hot'): string | undefined =>
    evaluatePod(podWith(profile, attach), { level: 'baseline', version: 'latest' })?.reasons;
  assert.equal(against('privileged'), 'privileged');
  assert.equal(against('sys-admin'), 'forbidden AppArmor profile, non-default capabilities');
  assert.equal(against('baseline'), undefined);
  assert.equal(against('baseline', 'recreate'), undefined);
});

test('no profile but privileged is privileged, and each has root, which the agent needs', () => {
  for (const profile of profiles) {
    const { securityContext } = podWith(profile, 'hot').spec.containers[0] ?? {};
    assert.equal(securityContext?.privileged, profile === 'privileged');
    assert.equal(securityContext?.runAsUser, 0);
  }
});
