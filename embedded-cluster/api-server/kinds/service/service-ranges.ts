/**
 * Addresses of Services: the top of the loopback range that the embedded cluster uses, which pods do not use
 * (node/pods/pod-addresses.ts). Addresses that are not requested explicitly come from above the first 256,
 * because Kubernetes keeps the lower band for explicit requests (KEP-3070).
 */
export const serviceRange = {
  text: '127.127.0.0/16',
  first: 0x7f7f0000,
  size: 0x10000,
  staticBandSize: 256,
} as const;

/** NodePorts. The lower band is for explicit requests (KEP-3668). */
export const nodePortRange = { text: '30000-32767', first: 30_000, size: 2_768, staticBandSize: 86 } as const;

export const addressText = (value: number): string =>
  [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join('.');

const addressNumber = (address: string): number =>
  address.split('.').reduce((value, part) => value * 256 + Number(part), 0);

/**
 * Returns true for an IPv4 address that a Service may have; the network address and the broadcast address are
 * excluded.
 */
export function isServiceAddress(address: string): boolean {
  const offset = addressNumber(address) - serviceRange.first;
  return offset > 0 && offset < serviceRange.size - 1;
}

export function isNodePort(port: number): boolean {
  return port >= nodePortRange.first && port < nodePortRange.first + nodePortRange.size;
}

interface AllocationRange {
  readonly first: number;
  readonly size: number;
  readonly staticBandSize: number;
}

/**
 * Returns a free number: first from the upper band, starting at `start` and wrapping, then from the lower
 * band. Returns undefined if all are taken. Different starts spread the choices, which delays reuse of
 * released numbers.
 */
export function pickFree(
  { first, size, staticBandSize }: AllocationRange,
  isTaken: (number: number) => boolean,
  start: number,
): number | undefined {
  const upper = size - staticBandSize - 1;
  for (let tried = 0; tried < upper; tried += 1) {
    const number = first + staticBandSize + ((start + tried) % upper);
    if (!isTaken(number)) return number;
  }
  for (let number = first + 1; number < first + staticBandSize; number += 1) {
    if (!isTaken(number)) return number;
  }
  return undefined;
}
