const tcpListenState = '0A';

/**
 * `0A00407F:0050` is 127.64.0.10, port 80: the address has the machine's byte order, which is little-endian
 * here.
 */
const toAddress = (field: string): string =>
  (field.slice(0, 8).match(/../g) ?? [])
    .toReversed()
    .map((byte) => Number.parseInt(byte, 16))
    .join('.');

/** Returns the IPv4 addresses on which a process listens, from the text of /proc/net/tcp (proc(5)). */
export function listeningAddresses(text: string): Set<string> {
  const sockets = text.split('\n').map((line) => line.trim().split(/\s+/));
  return new Set(
    sockets.filter(([, , , state]) => state === tcpListenState).map(([, local = '']) => toAddress(local)),
  );
}
