import { groupResource, resourceNotServed, pathNotFound } from '../errors/status-errors.ts';
import type { Kind } from '../kinds/kind.ts';
import type { Registry } from '../registry/registry.ts';

/** A parsed path below /api/v1 or /apis/<group>/<version>. */
export interface ResourceRoute {
  readonly kind: Kind;
  /** Undefined for cluster-scoped kinds and for all namespaces. */
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
}

/** Parses a path. Throws ApiError 404 if this server does not serve it. */
export function parseResourceRoute(registry: Registry, path: string): ResourceRoute {
  const { group, version, segments } = splitGroup(path);
  const { namespace, rest } = splitNamespace(segments);
  const [plural = '', name, subresource, ...more] = rest;
  const kind = registry.kinds.get(groupResource({ group, plural }));
  if (plural === '' || more.length > 0) throw pathNotFound();
  if (kind?.resource.version !== version) throw resourceNotServed({ group, version, plural });
  const scopeFits = kind.resource.namespaced
    ? namespace !== undefined || name === undefined
    : namespace === undefined;
  if (!scopeFits) throw pathNotFound();
  return { kind, namespace, name, subresource };
}

function splitGroup(path: string): { group: string; version: string; segments: string[] } {
  const [root, ...rest] = path
    .split('/')
    .filter((segment) => segment !== '')
    .map(decodeSegment);
  const [group, version, ...segments] = root === 'api' ? ['', ...rest] : rest;
  if (!['api', 'apis'].includes(root ?? '') || group === undefined || version === undefined)
    throw pathNotFound();
  return { group, version, segments };
}

/** `namespaces/<name>` alone, or with /status or /finalize, is the namespace itself. */
function splitNamespace(segments: string[]): { namespace: string | undefined; rest: string[] } {
  const [first, namespace, plural = 'status'] = segments;
  if (first !== 'namespaces' || ['status', 'finalize'].includes(plural)) {
    return { namespace: undefined, rest: segments };
  }
  return { namespace, rest: segments.slice(2) };
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch (error) {
    if (error instanceof URIError) throw pathNotFound();
    throw error;
  }
}
