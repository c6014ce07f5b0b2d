import { CniError, cniErrorCode } from '../cni-error.ts';
import type { Environment } from '../plugin/environment.ts';
import type { NetworkConfig } from '../plugin/network-config.ts';
import { addressAnnotation } from './asked-addresses.ts';

/** An entry of `namespaces` in the configuration: pods of every namespace may request addresses. */
export const everyNamespace = '*';

/** True for a valid name of a namespace, or `*`. */
export const isNamespace = (text: string): boolean =>
  text === everyNamespace || (text.length <= 63 && /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/u.test(text));

/**
 * Rejects a request for fixed addresses unless the pod's namespace is one of the configured `namespaces`. A
 * pod that could take a VM's address would also get its MAC address and its traffic. Default: no namespace.
 * Throws CniError 104, and 7 if `namespaces` is not a list of namespaces.
 */
export function assertNamespaceAllowed(
  { all, name: network }: NetworkConfig,
  environment: Environment,
  addresses: readonly string[],
): void {
  const allowed = parseNamespaces(all['namespaces'], network);
  if (allowed.includes(everyNamespace)) return;
  const namespace = podNamespace(environment['CNI_ARGS']);
  if (namespace !== undefined && allowed.includes(namespace)) return;
  const pod =
    namespace === undefined
      ? 'a pod of which the runtime does not tell the namespace (K8S_POD_NAMESPACE in CNI_ARGS)'
      : `a pod of the namespace ${namespace}`;
  throw new CniError(
    cniErrorCode.namespaceNotAllowed,
    `${pod} asks for ${addresses.join(' and ')} by the annotation ${addressAnnotation}, and 'namespaces' of static-ip's ` +
      `configuration lists ${allowed.join(', ') || 'none'}: take the annotation away, or add the namespace there`,
  );
}

function parseNamespaces(value: unknown, network: string): readonly string[] {
  if (value === undefined) return [];
  const isList = (list: unknown): list is string[] =>
    Array.isArray(list) && list.every((each) => typeof each === 'string' && isNamespace(each));
  if (isList(value)) return value;
  throw new CniError(
    cniErrorCode.invalidConfig,
    `'namespaces' of network ${network} is no list of names of namespaces`,
  );
}

/**
 * Returns the namespace that the runtime passes, not the pod; undefined if it passes none or more than one.
 */
function podNamespace(text: string | undefined): string | undefined {
  const prefix = 'K8S_POD_NAMESPACE=';
  const [namespace, ...more] = (text ?? '').split(';').filter((pair) => pair.startsWith(prefix));
  return more.length > 0 ? undefined : namespace?.slice(prefix.length);
}
