import { parseQuantity } from '../../kubernetes/quantity.ts';
import type { PersistentVolumeClaim } from '../../kubernetes/volume.ts';

const mebibyte = 1024n * 1024n;

const resizePending = 'FileSystemResizePending';

export const parseBytes = (sizeMiB: number): bigint => BigInt(sizeMiB) * mebibyte;

/** What the claim asks for, in bytes. */
export function requestedBytes({ spec }: PersistentVolumeClaim): bigint {
  return parseQuantity(spec.resources?.requests?.['storage'] ?? '0') ?? 0n;
}

/** For messages: bytes as whole MiB, which is how BOSH counts. */
export const formatMiB = (bytes: bigint): string => `${(bytes + mebibyte - 1n) / mebibyte} MiB`;

/**
 * Whether the volume has the size that is asked for, as far as it can get without a pod: a file system grows when it is
 * mounted the next time (kubernetes-csi/external-resizer, FileSystemResizePending).
 */
export function hasReachedSize({ status }: PersistentVolumeClaim, bytes: bigint): boolean {
  const sizeIn = (sizes: Readonly<Record<string, string>> | undefined): bigint | undefined =>
    parseQuantity(sizes?.['storage'] ?? '');
  if ((sizeIn(status?.capacity) ?? 0n) >= bytes) return true;
  const isPending = status?.conditions?.some(
    ({ type, status: value }) => type === resizePending && value === 'True',
  );
  // the condition may be of an earlier growth, which no pod has taken up yet
  return isPending === true && (sizeIn(status?.allocatedResources) ?? bytes) >= bytes;
}
