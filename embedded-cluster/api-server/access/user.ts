/** The authenticated user of a request (apiserver pkg/authentication/user). */
export interface User {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  /** Further attributes from the credential: the pod that a token is bound to. */
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** Members may do everything, whatever their roles are. */
export const mastersGroup = 'system:masters';
export const authenticatedGroup = 'system:authenticated';

const accountPrefix = 'system:serviceaccount:';

/** Returns `system:serviceaccount:<namespace>:<name>`. */
export function serviceAccountUsername(namespace: string, name: string): string {
  return `${accountPrefix}${namespace}:${name}`;
}

/** Returns the service account of a user name; undefined for other users. */
export function parseServiceAccountUsername(
  userName: string,
): { namespace: string; name: string } | undefined {
  if (!userName.startsWith(accountPrefix)) return undefined;
  const [namespace, name, ...more] = userName.slice(accountPrefix.length).split(':');
  if (namespace === undefined || name === undefined || more.length > 0) return undefined;
  return { namespace, name };
}

/**
 * Returns the groups of every service account of a namespace (apiserver pkg/authentication/serviceaccount).
 */
export function serviceAccountGroups(namespace: string): readonly string[] {
  return ['system:serviceaccounts', `system:serviceaccounts:${namespace}`];
}
