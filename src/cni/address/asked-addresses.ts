import { canonicalAddress, familyOf } from '../../kubernetes/ip-text.ts';
import { CniError, cniErrorCode } from '../cni-error.ts';
import type { JsonObject } from '../json.ts';
import { isObject } from '../json.ts';

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
      `the pod's annotation ${addressAnnotation} is ${(JSON.stringify(text) ?? '').slice(0, 100)}: one IPv4 address, one IPv6 ` +
        'address, or both with a comma between are needed',
    );
  return addresses.map(canonicalAddress);
}
