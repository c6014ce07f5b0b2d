import type { Resource } from '../../../../src/kubernetes/api.ts';
import type { LocalApi } from '../../../../embedded-cluster/api-server/local-api.ts';
import { groupResource } from '../../../../embedded-cluster/api-server/errors/status-errors.ts';
import { resourcePath } from '../../../../src/kubernetes/resources.ts';
import { kindOf } from '../../../../embedded-cluster/api-server/registry/registry.ts';
import type { Kind } from '../../../../embedded-cluster/api-server/kinds/kind.ts';
import { copyJson } from '../../../../embedded-cluster/api-server/schema/json.ts';
import { mutate, spoil } from '../mutate-json.ts';
import { policyTemplates } from './policy-objects.ts';
import type { Random } from '../random.ts';
import { specialRequest } from './special-requests.ts';
import { templates, type Fields, type Template } from './valid-objects.ts';

export interface FuzzRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** True for a valid request with a change in its object or its query, false for one with another change. */
  readonly mutation: boolean;
}

const namespaces = ['bosh', 'default', 'n1'];
const names = ['n1', 'n2', 'n3', 'n4', 'n5'];
const strategic = 'application/strategic-merge-patch+json';
const patchTypes = ['application/merge-patch+json', strategic, 'application/json-patch+json'];
const values = [
  '',
  '0',
  '1',
  '-1',
  'All',
  'true',
  'x',
  '99999999999999999999',
  '%',
  'a=b',
  'a in (b',
  'Strict',
  '\u0000',
  'metadata.name=n1',
];
/** Only reads have the second half of these parameters. */
const parameters = [
  'dryRun',
  'fieldValidation',
  'labelSelector',
  'fieldSelector',
  'limit',
  'continue',
  'resourceVersionMatch',
  'gracePeriodSeconds',
  'propagationPolicy',
  'pretty',
];

const allTemplates = [...templates, ...policyTemplates].map((template) => ({
  template,
  name: groupResource(template.resource),
}));

/** Returns the next request. `api` provides the objects to change. */
export function fuzzRequest(random: Random, api: LocalApi): FuzzRequest {
  const valid = validRequest(random, api);
  return random.once(8) ? broken(random, valid) : mutated(random, valid);
}

interface Valid {
  readonly method: string;
  readonly resource: Resource;
  readonly segments: readonly string[];
  readonly namespace: string | undefined;
  readonly query: Readonly<Record<string, string>>;
  readonly contentType: string;
  readonly body: unknown;
}

function validRequest(random: Random, api: LocalApi): Valid {
  const { template } = random.oneOf(allTemplates.filter(({ name }) => api.registry.kinds.has(name)));
  const { resource } = template;
  const kind = kindOf(api.registry, resource);
  const namespace = resource.namespaced ? random.oneOf(namespaces) : undefined;
  const name = random.oneOf(names);
  const at = { resource, namespace, query: writeQuery(random), contentType: 'application/json' };
  const special = specialRequest(random, template, name);
  if (special !== undefined) return { ...at, ...special };
  switch (random.below(10)) {
    case 0:
    case 1:
    case 2:
      return { ...at, method: 'POST', segments: [], body: newObject(random, template, namespace, name) };
    case 3:
    case 4: {
      const body = stored(random, api, resource) ?? newObject(random, template, namespace, name);
      return {
        ...at,
        ...namespaceOf(body),
        method: 'PUT',
        segments: [nameOf(body), ...status(random, kind)],
        body,
      };
    }
    case 5:
    case 6:
    case 7:
      return { ...at, ...patchRequest(random, api, template, kind) };
    case 8:
      return {
        ...at,
        method: 'DELETE',
        segments: random.once(20) ? [] : [name],
        body: deleteOptions(random),
      };
    default:
      return { ...at, ...reading(random, name, kind), body: undefined };
  }
}

function newObject(
  random: Random,
  { resource, make }: Template,
  namespace: string | undefined,
  name: string,
): Fields {
  const fields = make(random);
  const spec = fields['spec'] as { names?: { plural: string }; group?: string } | undefined;
  const defined = spec?.names === undefined ? name : `${spec.names.plural}.${spec.group ?? ''}`;
  const { group, version } = resource;
  return {
    apiVersion: group === '' ? version : `${group}/${version}`,
    metadata: {
      name: defined,
      ...(namespace === undefined ? {} : { namespace }),
      ...(random.once(4) ? { labels: { a: 'b' }, finalizers: ['a.b/c'] } : {}),
    },
    ...fields,
  };
}

function stored(random: Random, api: LocalApi, resource: Resource): Fields | undefined {
  const objects = api.registry.store.list(groupResource(resource));
  if (objects.length === 0) return undefined;
  const { metadata, ...rest } = copyJson(random.oneOf(objects));
  const { resourceVersion: _version, ...kept } = metadata;
  return { ...rest, metadata: random.once(2) ? kept : metadata };
}

const nameOf = (object: Fields): string => (object['metadata'] as { name?: string }).name ?? 'n1';
const namespaceOf = (object: Fields): { namespace: string | undefined } => ({
  namespace: (object['metadata'] as { namespace?: string }).namespace,
});
const status = (random: Random, kind: Kind): string[] => (kind.hasStatus && random.once(3) ? ['status'] : []);

function patchRequest(
  random: Random,
  api: LocalApi,
  template: Template,
  kind: Kind,
): Pick<Valid, 'method' | 'segments' | 'namespace' | 'contentType' | 'body'> {
  const target = stored(random, api, template.resource) ?? { metadata: { name: 'n1', namespace: 'bosh' } };
  const contentType = random.oneOf(
    patchTypes.filter((type) => kind.isCustomResource !== true || type !== strategic),
  );
  const fields = random.once(2)
    ? template.make(random)
    : { metadata: { labels: { a: 'c' }, annotations: { b: null } }, status: { phase: 'x' } };
  const body =
    contentType === 'application/json-patch+json'
      ? Object.entries(fields).map(([key, value]) => ({
          op: random.oneOf(['add', 'replace', 'test', 'remove']),
          path: `/${key}`,
          value,
        }))
      : fields;
  return {
    method: 'PATCH',
    segments: [nameOf(target), ...status(random, kind)],
    ...namespaceOf(target),
    contentType,
    body,
  };
}

function deleteOptions(random: Random): Fields | undefined {
  if (random.once(2)) return undefined;
  return {
    kind: 'DeleteOptions',
    apiVersion: 'v1',
    gracePeriodSeconds: random.below(40),
    propagationPolicy: 'Background',
  };
}

function reading(random: Random, name: string, kind: Kind): Pick<Valid, 'method' | 'segments' | 'query'> {
  if (random.once(2)) return { method: 'GET', segments: [name, ...status(random, kind)], query: {} };
  const query = {
    limit: String(random.below(4)),
    labelSelector: random.oneOf(['', 'a=b', 'a', '!a', 'a in (b,c)']),
  };
  return { method: 'GET', segments: [], query };
}

function writeQuery(random: Random): Record<string, string> {
  return {
    ...(random.once(3) ? { fieldValidation: random.oneOf(['Strict', 'Warn', 'Ignore']) } : {}),
    ...(random.once(6) ? { dryRun: 'All' } : {}),
  };
}

/** Changes the object, or the query if there is no object or by chance. */
function mutated(random: Random, valid: Valid): FuzzRequest {
  const inQuery = valid.body === undefined || random.once(6);
  const query = inQuery ? { ...valid.query, [random.oneOf(parameters)]: random.oneOf(values) } : valid.query;
  const body = inQuery ? valid.body : mutateBody(random, valid.body);
  return written({ ...valid, query }, body === undefined ? undefined : JSON.stringify(body), true);
}

/** Changes a request body. In a JSON patch this is mostly the value of an operation. */
function mutateBody(random: Random, body: unknown): unknown {
  if (!Array.isArray(body) || body.length === 0 || random.once(5)) return mutate(random, body);
  const at = random.below(body.length);
  const operation = body[at] as Fields;
  return body.with(at, { ...operation, value: mutate(random, operation['value']) });
}

/** Changes the text, the path, the method or the headers. */
function broken(random: Random, valid: Valid): FuzzRequest {
  const text = valid.body === undefined ? undefined : JSON.stringify(valid.body);
  const request = written(valid, text, false);
  switch (random.below(4)) {
    case 0:
      return {
        ...request,
        body: spoil(random, text ?? '{}'),
        method: text === undefined ? 'POST' : request.method,
      };
    case 1: {
      const at = random.below(request.path.length);
      return {
        ...request,
        path: `/${request.path.slice(1, at)}${random.oneOf(['/', '%', '%00', '%2e%2e', '?', '~', '//', 'status', '..', '%ff'])}${request.path.slice(Math.max(at, 1))}`,
      };
    }
    case 2:
      return {
        ...request,
        method: random.oneOf(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']),
      };
    default:
      return {
        ...request,
        headers: {
          ...request.headers,
          [random.oneOf(['accept', 'content-type'])]: random.oneOf([
            '',
            '*/*',
            'text/html',
            'application/json;as=Table;g=meta.k8s.io;v=v1',
            'application/json;as=Table',
            'application/apply-patch+yaml',
            'application/vnd.kubernetes.protobuf',
            ';;==,,',
          ]),
        },
      };
  }
}

function written(
  { method, resource, namespace, segments, query, contentType }: Valid,
  body: string | undefined,
  mutation: boolean,
): FuzzRequest {
  const search = new URLSearchParams(query).toString();
  return {
    method,
    path: `${pathOf(resource, namespace, segments)}${search === '' ? '' : `?${search}`}`,
    headers: body === undefined ? {} : { 'content-type': contentType },
    body,
    mutation,
  };
}

/** Like `resourcePath`, for names that may be invalid. */
function pathOf(resource: Resource, namespace: string | undefined, segments: readonly string[]): string {
  const encoded = segments.map((segment) => encodeURIComponent(segment)).join('/');
  return `${resourcePath(resource, namespace === undefined || /[/%]|^\.*$/.test(namespace) ? undefined : namespace)}${encoded === '' ? '' : `/${encoded}`}`;
}
