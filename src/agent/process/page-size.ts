import { readFile } from 'node:fs/promises';

/** The type of the entry with the page size in the auxiliary vector (AT_PAGESZ, getauxval(3)). */
const pageSizeType = 6n;

let kilobytes: Promise<number> | undefined;

/**
 * Returns the size of a memory page of this machine, in KiB. It is 4 on x86-64, and 4, 16 or 64 on arm64,
 * depending on the kernel.
 */
export function pageKilobytes(): Promise<number> {
  kilobytes ??= readFile('/proc/self/auxv').then((vector) => parsePageSize(vector) / 1024);
  return kilobytes;
}

/**
 * Reads the page size in bytes from an auxiliary vector: pairs of 64-bit numbers, type and value (proc(5)).
 */
export function parsePageSize(vector: Buffer): number {
  // Both architectures that this product is built for are little-endian.
  for (let offset = 0; offset + 16 <= vector.length; offset += 16)
    if (vector.readBigUInt64LE(offset) === pageSizeType) return Number(vector.readBigUInt64LE(offset + 8));
  throw new Error('/proc/self/auxv has no page size');
}
