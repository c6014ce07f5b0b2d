import { forbiddenField, unsupportedValue } from '../errors/field-causes.ts';
import type { Cause } from '../errors/field-causes.ts';
import { badRequest, invalid } from '../errors/status-errors.ts';
import { decodeToken } from './continue-token.ts';
import type { Registry } from './registry.ts';
import { assertReached, parseResourceVersion } from './resource-version.ts';

export interface StartQuery {
  readonly continue?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly resourceVersionMatch?: string | undefined;
}

/** The start of a page. */
export interface ListStart {
  /** The version to show; undefined: the current version. */
  readonly revision: number | undefined;
  /** The last key of the previous page. */
  readonly after: string | undefined;
}

/**
 * Reads continue, resourceVersion and resourceVersionMatch (apimachinery
 * pkg/apis/meta/internalversion/validation, apiserver pkg/storage). `list` is the list that a token must
 * belong to. Throws ApiError 400 (token, version), 422 (a combination that is not allowed), 504 (a version
 * not reached).
 */
export function listStart({ store }: Registry, query: StartQuery, list: string): ListStart {
  const token = query.continue ?? '';
  const revision = parseResourceVersion(query.resourceVersion);
  const match = query.resourceVersionMatch ?? '';
  const causes = checkMatch(match, revision, token !== '');
  if (causes.length > 0) throw invalid('ListOptions', 'meta.k8s.io', '', causes);
  if (token !== '') {
    if (revision !== undefined && revision !== 0) {
      throw badRequest('specifying resource version is not allowed when using continue');
    }
    const start = decodeToken(token, list);
    if (start.revision !== undefined) assertReached(store, start.revision);
    return start;
  }
  if (revision !== undefined) assertReached(store, revision);
  return { revision: match === 'Exact' ? revision : undefined, after: undefined };
}

function checkMatch(match: string, revision: number | undefined, continued: boolean): Cause[] {
  const field = 'resourceVersionMatch';
  if (match === '') return [];
  if (match !== 'Exact' && match !== 'NotOlderThan') {
    return [unsupportedValue(field, match, ['Exact', 'NotOlderThan'])];
  }
  if (continued) return [forbiddenField(field, 'resourceVersionMatch is forbidden for continue')];
  if (revision === undefined) {
    return [forbiddenField(field, 'resourceVersionMatch is forbidden unless resourceVersion is provided')];
  }
  return match === 'Exact' && revision === 0
    ? [forbiddenField(field, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"')]
    : [];
}
