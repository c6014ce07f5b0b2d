import type { Kind } from '../kinds/kind.ts';
import type { JsonRecord } from '../schema/json.ts';
import type { Schema } from '../schema/schema.ts';

/** Returns the response of GET /openapi/v3: the path of the document of each group and version. */
export function openApiPaths(kinds: Iterable<Kind>): JsonRecord {
  const paths = new Set([...kinds].map(groupVersionPath));
  return {
    paths: Object.fromEntries([...paths].map((path) => [path, { serverRelativeURL: `/openapi/v3/${path}` }])),
  };
}

/**
 * Returns the OpenAPI v3 document of `api/v1` or `apis/<group>/<version>`: the fields that are served, with
 * their merge keys, so that kubectl's create, apply and explain work. Returns undefined if the path is not
 * served.
 */
export function openApiDocument(kinds: Iterable<Kind>, path: string): JsonRecord | undefined {
  const served = [...kinds].filter((kind) => groupVersionPath(kind) === path);
  if (served.length === 0) return undefined;
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: 'embedded' },
    paths: Object.fromEntries(served.map((kind) => [objectPath(kind), { patch: patchOperation(kind) }])),
    components: { schemas: Object.fromEntries(served.map((kind) => [schemaName(kind), kindSchema(kind)])) },
  };
}

function groupVersionPath({ resource: { group, version } }: Kind): string {
  return group === '' ? `api/${version}` : `apis/${group}/${version}`;
}

function objectPath(kind: Kind): string {
  const scope = kind.resource.namespaced ? '/namespaces/{namespace}' : '';
  return `/${groupVersionPath(kind)}${scope}/${kind.resource.plural}/{name}`;
}

const groupVersionKind = ({ resource, name }: Kind): JsonRecord => ({
  group: resource.group,
  version: resource.version,
  kind: name,
});

/** kubectl looks for these parameters to detect whether the server supports field validation and dry run. */
function patchOperation(kind: Kind): JsonRecord {
  return {
    'x-kubernetes-action': 'patch',
    'x-kubernetes-group-version-kind': groupVersionKind(kind),
    parameters: ['dryRun', 'fieldValidation', 'fieldManager'].map((name) => ({
      name,
      in: 'query',
      schema: { type: 'string', uniqueItems: true },
    })),
    responses: {},
  };
}

function schemaName({ resource, name }: Kind): string {
  const group = resource.group === '' ? 'core' : (resource.group.split('.')[0] ?? '');
  return `io.k8s.api.${group}.${resource.version}.${name}`;
}

function kindSchema(kind: Kind): JsonRecord {
  return {
    ...jsonSchema(kind.schema),
    description: `${kind.name}, with the fields that the embedded cluster implements.`,
    'x-kubernetes-group-version-kind': [groupVersionKind(kind)],
  };
}

function jsonSchema(schema: Schema): JsonRecord {
  switch (schema.type) {
    case 'string':
      return { type: 'string' };
    case 'base64':
      return { type: 'string', format: 'byte' };
    case 'time':
      return { type: 'string', format: 'date-time' };
    case 'quantity':
      return { oneOf: [{ type: 'string' }, { type: 'number' }] };
    case 'integer':
      return { type: 'integer', format: 'int64' };
    case 'integerOrText':
      return { format: 'int-or-string', oneOf: [{ type: 'integer' }, { type: 'string' }] };
    case 'boolean':
      return { type: 'boolean' };
    case 'anything':
      return { type: 'object' };
    case 'map':
      return { type: 'object', additionalProperties: jsonSchema(schema.values) };
    case 'list':
      return { type: 'array', items: jsonSchema(schema.items), ...mergeExtensions(schema.merge) };
    case 'object':
      return {
        type: 'object',
        properties: Object.fromEntries(
          Object.entries(schema.fields).map(([key, field]) => [key, jsonSchema(field)]),
        ),
      };
  }
}

function mergeExtensions(merge: { readonly key: string } | 'set' | undefined): JsonRecord {
  if (merge === undefined) return { 'x-kubernetes-list-type': 'atomic' };
  if (merge === 'set') return { 'x-kubernetes-list-type': 'set', 'x-kubernetes-patch-strategy': 'merge' };
  return { 'x-kubernetes-patch-merge-key': merge.key, 'x-kubernetes-patch-strategy': 'merge' };
}
