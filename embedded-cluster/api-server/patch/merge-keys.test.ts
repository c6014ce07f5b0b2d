import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allKinds } from '../kinds/all-kinds.ts';
import type { Schema } from '../schema/schema.ts';

/**
 * Merge strategies of Kubernetes' types (patchStrategy and patchMergeKey in k8s.io/api/<group>/types.go), by
 * kind and path. A list of objects that is not in this table is atomic.
 */
const upstream: Readonly<Record<string, string>> = {
  'metadata.finalizers': 'set',
  'metadata.ownerReferences': 'uid',
  'Namespace status.conditions': 'type',
  'Node status.conditions': 'type',
  'Node status.addresses': 'type',
  'Node spec.podCIDRs': 'set',
  'PersistentVolumeClaim status.conditions': 'type',
  'Pod spec.containers': 'name',
  'Pod spec.initContainers': 'name',
  'Pod spec.ephemeralContainers': 'name',
  'Pod spec.volumes': 'name',
  'Pod spec.imagePullSecrets': 'name',
  'Pod spec.hostAliases': 'ip',
  'Pod spec.topologySpreadConstraints': 'topologyKey',
  'Pod spec.schedulingGates': 'name',
  'Pod spec.resourceClaims': 'name',
  'Pod status.conditions': 'type',
  'Pod status.podIPs': 'ip',
  'Pod status.hostIPs': 'ip',
  'PodDisruptionBudget status.conditions': 'type',
  'Service spec.ports': 'port',
  'Service status.conditions': 'type',
  'ServiceAccount secrets': 'name',
};

const ofContainers: Readonly<Record<string, string>> = {
  env: 'name',
  ports: 'containerPort',
  volumeMounts: 'mountPath',
  volumeDevices: 'devicePath',
};

function expected(kind: string, path: string): string {
  const container = /^spec\.(?:c|initC)ontainers\.(\w+)$/.exec(path)?.[1];
  if (kind === 'Pod' && container !== undefined) return ofContainers[container] ?? 'atomic';
  return upstream[`${kind} ${path}`] ?? upstream[path] ?? 'atomic';
}

function* lists(schema: Schema, path: string): Generator<[string, string]> {
  if (schema.type === 'map') yield* lists(schema.values, path);
  if (schema.type === 'object') {
    for (const [key, field] of Object.entries(schema.fields)) {
      yield* lists(field, path === '' ? key : `${path}.${key}`);
    }
  }
  if (schema.type !== 'list') return;
  const merge = schema.merge === undefined || schema.merge === 'set' ? schema.merge : schema.merge.key;
  yield [path, merge ?? 'atomic'];
  yield* lists(schema.items, path);
}

test("lists of every kind merge as those of Kubernetes' own types", () => {
  const found: string[] = [];
  for (const kind of allKinds.values()) {
    for (const [path, merge] of lists(kind.schema, '')) {
      assert.equal(merge, expected(kind.name, path), `${kind.name} ${path}`);
      found.push(`${kind.name} ${path}`);
    }
  }
  for (const known of ['Pod spec.containers', 'Node status.conditions', 'Secret metadata.ownerReferences'])
    assert(found.includes(known), known);
});
