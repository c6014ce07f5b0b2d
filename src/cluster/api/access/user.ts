/** Who a request comes from, once its credentials were believed (apiserver pkg/authentication/user). */
export interface User {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  /** What the credential says beyond its user: the pod that a token is bound to. */
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** Whoever is in it may do everything; no role can take that away. */
export const mastersGroup = 'system:masters';
export const authenticatedGroup = 'system:authenticated';

const accountPrefix = 'system:serviceaccount:';

/** `system:serviceaccount:<namespace>:<name>` */
export function serviceAccountUsername(namespace: string, name: string): string {
  return `${accountPrefix}${namespace}:${name}`;
}

/** The service account behind a user's name; undefined for anybody else. */
export function parseServiceAccountUsername(
  userName: string,
): { namespace: string; name: string } | undefined {
  if (!userName.startsWith(accountPrefix)) return undefined;
  const [namespace, name, ...more] = userName.slice(accountPrefix.length).split(':');
  if (namespace === undefined || name === undefined || more.length > 0) return undefined;
  return { namespace, name };
}

/** The groups of every service account of a namespace (apiserver pkg/authentication/serviceaccount). */
export function serviceAccountGroups(namespace: string): readonly string[] {
  return ['system:serviceaccounts', `system:serviceaccounts:${namespace}`];
}
