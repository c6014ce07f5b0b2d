import { readFile } from 'node:fs/promises';
import type { Manifest } from '../../bosh/manifest/manifest.ts';
import { ProductError } from '../../errors/product-error.ts';

/** For example `127.64.0.10:8080`. The address is `*` if the process listens on all addresses. */
export type Listener = `${string}:${number}`;

const listening = '0A';

/** Parses the IPv4 listeners of this machine from the texts of /proc/net/tcp and tcp6 (proc(5)). */
export function parseListeners(texts: readonly string[]): Listener[] {
  return texts.flatMap((text) =>
    text
      .split('\n')
      .map((line) => line.trim().split(/\s+/u))
      .filter(([, , , state]) => state === listening)
      .flatMap(([, local = '']) => listenerAt(local) ?? []),
  );
}

/**
 * Returns the listener of an entry, whose address has the machine's byte order (little-endian). The only IPv6
 * address is `::`, which also accepts IPv4.
 */
function listenerAt(local: string): Listener | undefined {
  const [hex = '', port = ''] = local.split(':');
  const at = Number.parseInt(port, 16);
  if (/^0+$/u.test(hex)) return `*:${at}`;
  if (hex.length !== 8) return undefined;
  const bytes = (hex.match(/../gu) ?? []).toReversed().map((byte) => Number.parseInt(byte, 16));
  return `${bytes.join('.')}:${at}`;
}

/** Reads the current listeners of this machine. */
export async function readListeners(): Promise<Listener[]> {
  const read = (path: string): Promise<string> =>
    readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      // The file is missing if the kernel has no IPv6.
      if (error.code === 'ENOENT') return '';
      throw error;
    });
  return parseListeners(await Promise.all(['/proc/net/tcp', '/proc/net/tcp6'].map(read)));
}

/**
 * Throws ADDRESS_TAKEN if the manifest's VM could not use its address on the embedded cluster, whose VMs
 * share the machine's network. Another process already listens on that address, or on all addresses at the
 * port of the VM's agent or of the tag `url`.
 */
export function assertAddressFree(
  { instanceGroup, cloudProvider, tags }: Pick<Manifest, 'instanceGroup' | 'cloudProvider' | 'tags'>,
  listeners: readonly Listener[],
): void {
  const addresses = instanceGroup.networks.flatMap(({ staticIps }) => staticIps);
  const ports = [cloudProvider.mbus, tags['url']]
    .filter((url) => url !== undefined && URL.canParse(url))
    .map((url) => new URL(url ?? ''))
    .filter(({ hostname }) => addresses.includes(hostname))
    .map(({ port, protocol }) => Number(port || (protocol === 'https:' ? 443 : 80)));
  const taken = listeners.find(
    (listener) =>
      addresses.some((address) => listener.startsWith(`${address}:`)) ||
      ports.some((port) => listener === `*:${port}`),
  );
  if (taken === undefined) return;
  throw new ProductError(
    'ADDRESS_TAKEN',
    `The address ${addresses.join(' and ')} of '${instanceGroup.name}' is in use: a process on this machine already listens on ${taken}, ` +
      'perhaps a VM of another embedded cluster, or the VM of this manifest, whose state file is lost; no VM was changed. Stop it ' +
      "(ss -ltnp shows it), restore the state file ('bosh-kubernetes state restore MANIFEST'), or use another address or port in the manifest: " +
      'static_ips, the mbus of cloud_provider and, in the example, tags.url. Another address also belongs into the options of the ' +
      'certificate (common_name and alternative_names), whose entry must then be deleted from the vars store (in the example mbus_tls in ' +
      'manifest-creds.yml), so that the next run generates it again',
  );
}
