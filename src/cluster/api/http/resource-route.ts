import { unknownPath } from '../errors/status-errors.ts';
import type { Kind } from '../kinds/kind.ts';
import type { Registry } from '../registry/registry.ts';

/** A path below /api/v1 or /apis/<group>/<version>, understood. */
export interface ResourceRoute {
  readonly kind: Kind;
  /** Undefined for cluster-scoped kinds and for all namespaces. */
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
}

/** Throws ApiError 404 for what this server does not serve. */
export function parseResourceRoute(registry: Registry, path: string): ResourceRoute {
  const [root, ...rest] = path
    .split('/')
    .filter((segment) => segment !== '')
    .map(decodeSegment);
  const [group, version, ...tail] = root === 'api' ? ['', ...rest] : rest;
  if ((root !== 'api' && root !== 'apis') || group === undefined || version === undefined)
    throw unknownPath();
  const namespaced =
    tail[0] === 'namespaces' && tail.length > 2 && tail[2] !== 'status' && tail[2] !== 'finalize';
  const [plural = '', name, subresource, ...more] = namespaced ? tail.slice(2) : tail;
  const kind = registry.kinds.get(group === '' ? plural : `${plural}.${group}`);
  const served = kind !== undefined && kind.resource.version === version && kind.resource.group === group;
  if (!served || more.length > 0) throw unknownPath();
  if (namespaced !== (kind.resource.namespaced && (namespaced || name !== undefined))) throw unknownPath();
  return { kind, namespace: namespaced ? tail[1] : undefined, name, subresource };
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch (error) {
    if (error instanceof URIError) throw unknownPath();
    throw error;
  }
}
