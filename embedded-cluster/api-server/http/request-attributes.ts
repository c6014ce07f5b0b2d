import type { Attributes } from '../access/policy-rule.ts';
import { parseFieldSelector } from '../registry/selectors.ts';
import { tryDecodeUriComponent } from './decoded-or-same.ts';

interface RequestLine {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
}

const verbs: Readonly<Record<string, string>> = {
  POST: 'create',
  GET: 'get',
  HEAD: 'get',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

const namespaceSubresources = ['status', 'finalize'];

/**
 * Derives the authorization attributes from method and URL only, so that an unauthorized client cannot learn
 * which resources exist (apiserver pkg/endpoints/request/requestinfo.go). Throws ApiError 400 for a field
 * selector that cannot be parsed.
 */
export function requestAttributes({ method, path, query }: RequestLine): Attributes {
  // The route decodes segments in the same way; both must read the same path.
  const parts = path.split('/').filter((part) => part !== '');
  // A segment that cannot be decoded is rejected later, by the route.
  const [prefix, ...rest] = parts.map(tryDecodeUriComponent);
  const group = prefix === 'apis' ? rest.shift() : '';
  const [version, ...segments] = rest;
  const isResource = (prefix === 'api' || prefix === 'apis') && version !== undefined && segments.length > 0;
  if (!isResource || group === undefined) return { verb: method.toLowerCase(), path };
  const location = splitUrl(segments);
  const verb = verbOf(method, location.name, query);
  const name =
    location.name ?? (verb === 'list' || verb === 'watch' ? nameFromFieldSelector(query) : undefined);
  return { ...location, group, verb, ...(name === undefined ? {} : { name }) };
}

interface UrlParts {
  readonly resource: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly subresource?: string;
}

function splitUrl(segments: string[]): UrlParts {
  const [first = '', second, third] = segments;
  const inNamespace =
    first === 'namespaces' &&
    second !== undefined &&
    third !== undefined &&
    !namespaceSubresources.includes(third);
  const [resource = '', name, subresource] = inNamespace ? segments.slice(2) : segments;
  const namespace = first === 'namespaces' ? second : undefined;
  return {
    resource,
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined ? {} : { name }),
    ...(subresource === undefined ? {} : { subresource }),
  };
}

function verbOf(method: string, name: string | undefined, query: URLSearchParams): string {
  const verb = verbs[method] ?? method.toLowerCase();
  if (name !== undefined) return verb;
  if (verb === 'delete') return 'deletecollection';
  if (verb !== 'get') return verb;
  const watch = query.get('watch');
  return watch !== null && !['0', 'f', 'F', 'false', 'FALSE', 'False'].includes(watch) ? 'watch' : 'list';
}

/**
 * A list or a watch that selects one object by name is a request for that name, so resourceNames can allow
 * it. The selector counts for these verbs only: other verbs do not filter by it (a create could have any
 * name).
 */
function nameFromFieldSelector(query: URLSearchParams): string | undefined {
  const selector = query.get('fieldSelector') ?? '';
  if (selector === '') return undefined;
  return parseFieldSelector(selector).find(({ field, equal }) => field === 'metadata.name' && equal)?.value;
}
