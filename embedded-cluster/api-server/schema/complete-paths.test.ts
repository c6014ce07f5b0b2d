import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pins } from '../../../test/cluster/programs/programs.ts';
import { allKinds } from '../kinds/all-kinds.ts';
import { KubernetesDocument } from './testing/kubernetes-document.ts';
import type { ObjectSchema, Schema } from './schema.ts';
import { isUpstreamField } from './upstream-fields.ts';

interface ObjectNode {
  /** The path without indices; empty for the kind itself. */
  readonly path: string;
  readonly schema: ObjectSchema;
}

/**
 * Returns every object in a kind's schema, the kind itself first, without metadata and status, which are the
 * same for all kinds.
 */
function objectsIn(schema: Schema, path = ''): readonly ObjectNode[] {
  if (path === 'metadata' || path === 'status') return [];
  if (schema.type === 'list') return objectsIn(schema.items, path);
  if (schema.type === 'map') return objectsIn(schema.values, `${path}.*`);
  if (schema.type !== 'object') return [];
  const members = Object.entries(schema.fields).flatMap(([name, member]) =>
    objectsIn(member, path === '' ? name : `${path}.${name}`),
  );
  return [{ path, schema }, ...members];
}

const at = (path: string, field: string): string => (path === '' ? field : `${path}.${field}`);

test('of every object in every kind it is known which fields Kubernetes has there', () => {
  const unknown = [...allKinds.values()].map(({ name, schema }) => {
    const paths = objectsIn(schema).map(({ path }) => path);
    return [name, paths.filter((path) => isUpstreamField(name, at(path, 'noSuchField')))] as const;
  });

  assert.deepEqual(
    unknown.filter(([, paths]) => paths.length > 0),
    [],
  );
});

test('an object that nobody looked at takes no field that is not implemented', () => {
  assert(isUpstreamField('Pod', 'spec.newObject[0].anything'));
  assert(isUpstreamField('Event', 'newObject.anything'));
  assert(!isUpstreamField('Pod', 'metadata.ownerReferences[0].nonsense'));
  assert(!isUpstreamField('Pod', 'status.conditions[0].nonsense'));
});

test("a field of Kubernetes' own document that is not implemented is never taken for a typing error", async (t) => {
  const document = await KubernetesDocument.find(pins.kubernetes);
  if (document === undefined)
    return t.skip("needs Kubernetes among Go's modules, as npm run test:cluster leaves it");
  const missed: string[] = [];
  let looked = 0;
  for (const { name, resource, schema, isCustomResource } of allKinds.values()) {
    if (isCustomResource === true) continue;
    for (const node of objectsIn(schema)) {
      const fields = document.fieldsAt(resource, name, node.path);
      assert(fields !== undefined, `Kubernetes has no ${name} ${node.path}`);
      looked += fields.length;
      const dropped = fields.filter(
        (field) => !Object.hasOwn(node.schema.fields, field) && !isUpstreamField(name, at(node.path, field)),
      );
      missed.push(...dropped.map((field) => `${name} ${at(node.path, field)}`));
    }
  }
  assert(looked > 500, `${looked} fields`);
  assert.deepEqual(missed, ['Pod spec.volumes.ephemeral.volumeClaimTemplate.metadata.creationTimestamp']);
});
