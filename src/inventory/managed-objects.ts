import { label } from '../cpi/objects/labels.ts';
import { podKey } from '../cpi/vm/recorded-pod.ts';
import type { VmSecret } from '../cpi/vm/vms.ts';
import type { KubernetesObject } from '../kubernetes/object.ts';
import { formatBytes, parseQuantity } from '../kubernetes/types/quantity.ts';
import { isObject, parseJsonObject } from '../platform/json.ts';

/** Returns a filter for the objects whose label `kind` has that value. */
export const isKind =
  (kind: string) =>
  (object: KubernetesObject): boolean =>
    labelOf(object, label.kind) === kind;

export const labelOf = ({ metadata }: KubernetesObject, name: string): string | undefined =>
  metadata.labels?.[name];

/**
 * Returns the pod that a Secret records for a VM of the strategy `recreate`, which has no pod while a disk is
 * being attached. Undefined without a record, and for a record that the CPI did not write.
 */
export function recordOf({ data }: { readonly data?: VmSecret['data'] }): KubernetesObject | undefined {
  const record = parseJsonObject(Buffer.from(data?.[podKey] ?? '', 'base64').toString('utf8'));
  return record !== undefined && isObject(record['metadata'])
    ? (record as unknown as KubernetesObject)
    : undefined;
}

/** Formats a size with the largest exact suffix: the CPI requests `1024Mi`, which is shown as `1Gi`. */
export function formatSize(size: string | undefined): string | undefined {
  const bytes = size === undefined ? undefined : parseQuantity(size);
  return bytes === undefined ? size : formatBytes(bytes);
}
