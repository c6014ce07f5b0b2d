import { canonicalAddress, familyOf } from '../../platform/ip-address.ts';
import { CniError, cniErrorCode } from '../cni-error.ts';
import { type JsonObject, isObject } from '../../platform/json.ts';
import type { Environment, NetworkConfig } from './config.ts';

/** The capability under which containerd passes a pod's annotations. */
export const annotationsCapability = 'io.kubernetes.cri.pod-annotations';

/** The annotation with which the CPI requests addresses: separated by commas, at most one of each family. */
export const addressAnnotation = 'bosh.cloudfoundry.org/ip-address';

/**
 * Returns the addresses that the pod requests, in canonical form; undefined if it requests none. Throws
 * CniError 101 if the runtime passed no annotations at all, and 102 if the annotation does not have valid
 * addresses.
 */
export function requestedAddresses(runtimeConfig: JsonObject): readonly string[] | undefined {
  const annotations = runtimeConfig[annotationsCapability];
  if (annotations === undefined)
    throw new CniError(
      cniErrorCode.annotationsMissing,
      `the container runtime passed no pod annotations: declare "capabilities": {"${annotationsCapability}": true} for ` +
        'static-ip in the conflist, and run containerd on this node, since CRI-O does not pass them',
    );
  // Go encodes a pod without annotations as null
  if (annotations === null) return undefined;
  if (!isObject(annotations))
    throw new CniError(
      cniErrorCode.invalidConfig,
      `runtimeConfig['${annotationsCapability}'] is not an object`,
    );
  const text = annotations[addressAnnotation];
  return text === undefined ? undefined : parseAddresses(text);
}

function parseAddresses(text: unknown): readonly string[] {
  const addresses = typeof text === 'string' ? text.split(',').map((part) => part.trim()) : [];
  const families = addresses.map(familyOf);
  if (addresses.length === 0 || families.includes(undefined) || new Set(families).size < families.length)
    throw new CniError(
      cniErrorCode.addressInvalid,
      `the pod's annotation ${addressAnnotation} is ${(JSON.stringify(text) ?? '').slice(0, 100)}: it must be one IPv4 address, one IPv6 ` +
        'address, or both, separated by a comma',
    );
  return addresses.map(canonicalAddress);
}

/** Returns the addresses of an ADD result, in canonical form and without prefix length. */
export function resultAddresses({ ips }: JsonObject): readonly string[] {
  if (!Array.isArray(ips)) return [];
  return (ips as unknown[]).flatMap((entry) => {
    const address = isObject(entry) ? entry['address'] : undefined;
    const [bare = ''] = typeof address === 'string' ? address.split('/') : [];
    return familyOf(bare) === undefined ? [] : [canonicalAddress(bare)];
  });
}

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
      ? 'a pod whose namespace the runtime does not pass (K8S_POD_NAMESPACE in CNI_ARGS)'
      : `a pod of the namespace ${namespace}`;
  throw new CniError(
    cniErrorCode.namespaceNotAllowed,
    `${pod} requests ${addresses.join(' and ')} with the annotation ${addressAnnotation}, but 'namespaces' of static-ip's ` +
      `configuration lists ${allowed.join(', ') || 'none'}: remove the annotation, or add the namespace there`,
  );
}

function parseNamespaces(value: unknown, network: string): readonly string[] {
  if (value === undefined) return [];
  const isList = (list: unknown): list is string[] =>
    Array.isArray(list) && list.every((each) => typeof each === 'string' && isNamespace(each));
  if (isList(value)) return value;
  throw new CniError(
    cniErrorCode.invalidConfig,
    `'namespaces' of network ${network} must be a list of names of namespaces`,
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
