import { parseQuantity } from '../../kubernetes/quantity.ts';
import type { PersistentVolumeClaim } from '../../kubernetes/volume.ts';

const mebibyte = 1024n * 1024n;

const resizePending = 'FileSystemResizePending';

export const parseBytes = (sizeMiB: number): bigint => BigInt(sizeMiB) * mebibyte;

/** Returns the size that the claim requests, in bytes. */
export function requestedBytes({ spec }: PersistentVolumeClaim): bigint {
  return parseQuantity(spec.resources?.requests?.['storage'] ?? '0') ?? 0n;
}

/** Formats bytes for messages as whole MiB, the unit of BOSH. */
export const formatMiB = (bytes: bigint): string => `${(bytes + mebibyte - 1n) / mebibyte} MiB`;

/**
 * Returns whether the volume has the requested size, as far as this is possible without a pod: a file system
 * grows when it is mounted the next time (kubernetes-csi/external-resizer, FileSystemResizePending).
 */
export function hasReachedSize({ status }: PersistentVolumeClaim, bytes: bigint): boolean {
  const sizeIn = (sizes: Readonly<Record<string, string>> | undefined): bigint | undefined =>
    parseQuantity(sizes?.['storage'] ?? '');
  if ((sizeIn(status?.capacity) ?? 0n) >= bytes) return true;
  const isPending = status?.conditions?.some(
    ({ type, status: value }) => type === resizePending && value === 'True',
  );
  // the condition may come from an earlier growth, which no pod has completed yet
  return isPending === true && (sizeIn(status?.allocatedResources) ?? bytes) >= bytes;
}
