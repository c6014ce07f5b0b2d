import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { isProductError } from '../../errors/product-error.ts';
import { parseMilli } from '../../kubernetes/quantity.ts';
import type { PersistentVolumeClaim } from '../../kubernetes/volume.ts';
import type { CallContext } from '../cloud.ts';
import { plannedPod, vmPlan } from '../testing/planned-pod.ts';
import { calculateVmCloudProperties } from './calculate-vm-cloud-properties.ts';
import type { Resources } from './resources.ts';
import { vmClaims } from './vm-claims.ts';

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
    const refused = (code: 'INVALID_ARGUMENT' | 'INVALID_CONFIG', message: RegExp) => (error: unknown) =>
      isProductError(error, code) && message.test(error.message);
    const message = /resources\.limits\.memory is 1Gi, less than the 2Gi/u;
    assert.throws(() => resourcesOf({ resources: contradiction }), refused('INVALID_ARGUMENT', message));
    assert.throws(() => resourcesOf({}, contradiction), refused('INVALID_CONFIG', message));
    assert.throws(
      () => resourcesOf({ cpu: 2, resources: { limits: { cpu: '1500m' } } }),
      refused('INVALID_ARGUMENT', /resources\.limits\.cpu is 1500m, less than the 2/u),
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
      const calculated = await calculateVmCloudProperties(nowhere, [asked]);
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
      const [, claim] = vmClaims(vmPlan({ ...planned, attach: 'recreate' }), 'secret-uid');
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
