import { canonicalAddress, familyOf } from '../../kubernetes/ip-text.ts';
import { CniError, cniErrorCode } from '../cni-error.ts';
import type { JsonObject } from '../json.ts';
import { isObject } from '../json.ts';

/** The capability under which containerd passes a pod's annotations (kubernetes reference 2.4). */
export const annotationsCapability = 'io.kubernetes.cri.pod-annotations';

/** The annotation by which the CPI asks: addresses with commas between, at most one of each family. */
export const addressAnnotation = 'bosh.cloudfoundry.org/ip-address';

/**
 * The addresses that the pod asks for, canonical; undefined where it asks for none. Throws CniError 101 where the
 * runtime did not say anything about annotations, and 102 where the annotation names no addresses.
 */
export function requestedAddresses(runtimeConfig: JsonObject): readonly string[] | undefined {
  const annotations = runtimeConfig[annotationsCapability];
  if (annotations === undefined)
    throw new CniError(
      cniErrorCode.annotationsMissing,
      `the container runtime passed no pod annotations: declare "capabilities": {"${annotationsCapability}": true} for ` +
        'static-ip in the conflist, and run containerd on this node, since CRI-O does not pass them',
    );
  // Go writes a pod without annotations as null
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
