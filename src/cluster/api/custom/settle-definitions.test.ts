import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { KubernetesObject } from '../../../kubernetes/object.ts';
import { customResourceDefinitions } from '../../../kubernetes/resources.ts';
import type { LocalApi } from '../local-api.ts';
import { openLocalApi } from '../open-local-api.ts';
import { temporaryDirectory } from '../testing/temporary-directory.ts';
import { isEstablished } from './definition.ts';
import type { CustomResourceDefinition } from './definition.ts';
import { describeKind, object, string } from './definitions/describe.ts';

const group = 'settle.cloudfoundry.org';
const wheels = { group, version: 'v1', plural: 'wheels', namespaced: true };
const reference = { resource: wheels, namespace: 'bosh', name: 'w' };

interface Wheel extends KubernetesObject {
  spec?: Record<string, unknown>;
}

const wheel = (fields: Parameters<typeof object>[0], shortName = 'wh'): CustomResourceDefinition =>
  describeKind({
    group,
    plural: 'wheels',
    kind: 'Wheel',
    shortNames: [shortName],
    scope: 'Namespaced',
    version: { schema: { openAPIV3Schema: object({ spec: object(fields) }) } },
  });

async function open(t: TestContext): Promise<LocalApi> {
  const api = await openLocalApi({ directory: temporaryDirectory(t) });
  t.after(() => api.close());
  return api;
}

test('objects follow their definition: what it drops goes, what it defaults comes', async (t) => {
  const api = await open(t);
  await api.create(customResourceDefinitions, wheel({ size: string(), old: string() }));
  const made = { metadata: { namespace: 'bosh', name: 'w' }, spec: { size: 'a', old: 'b' } };
  await api.create<Wheel>(wheels, made);
  const { spec } = wheel({ size: string(), color: string({ default: 'red' }) });
  const definition = { resource: customResourceDefinitions, name: `wheels.${group}` };
  await api.patch(definition, { spec: { versions: spec.versions } });
  assert.deepEqual((await api.get<Wheel>(reference)).spec, { size: 'a', color: 'red' });
  await api.patch(reference, { spec: { size: 'c' } });
});

test('names that another definition has are waited for', async (t) => {
  const api = await open(t);
  const axle = {
    ...describeKind({
      group,
      plural: 'axles',
      kind: 'Axle',
      shortNames: ['wh'],
      scope: 'Namespaced',
      version: { schema: { openAPIV3Schema: object({}) } },
    }),
  };
  await api.create(customResourceDefinitions, wheel({}));
  const refused = await api.create(customResourceDefinitions, axle);
  assert(!isEstablished(refused));
  assert.equal(refused.status?.conditions?.find(({ type }) => type === 'NamesAccepted')?.status, 'False');
  assert(!api.registry.kinds.has(`axles.${group}`));
  await api.delete({ resource: customResourceDefinitions, name: `wheels.${group}` });
  const at = { resource: customResourceDefinitions, name: `axles.${group}` };
  assert(isEstablished(await api.get<CustomResourceDefinition>(at)));
  assert(api.registry.kinds.has(`axles.${group}`));
});
