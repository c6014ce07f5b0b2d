import { readFile } from 'node:fs/promises';
import type { Manifest } from '../../bosh/manifest/manifest.ts';
import { ProductError } from '../../errors/product-error.ts';
import { shellWord } from '../../platform/shell-word.ts';

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

export interface AddressCheck {
  /** The listeners on this machine, none of which belongs to the deployment of a state file. */
  readonly listeners: readonly Listener[];
  /**
   * The path of the manifest if the cluster runs and no state file records a VM. The VM of a lost state file
   * may have the address then.
   */
  readonly restorable: string | undefined;
}

/**
 * Throws ADDRESS_TAKEN if the manifest's VM could not use its address on the embedded cluster, whose VMs
 * share the machine's network. Another process already listens on that address, or on all addresses at the
 * port of the VM's agent or of the tag `url`.
 */
export function assertAddressFree(
  { instanceGroup, cloudProvider, tags }: Pick<Manifest, 'instanceGroup' | 'cloudProvider' | 'tags'>,
  { listeners, restorable }: AddressCheck,
): void {
  const addresses = instanceGroup.networks.flatMap(({ staticIps }) => staticIps);
  const ports = [cloudProvider.mbus, tags['url']]
    .filter((url) => url !== undefined && URL.canParse(url))
    .map((url) => new URL(url ?? ''))
    .filter(({ hostname }) => addresses.includes(hostname))
    .map(({ port, protocol }) => Number(port || (protocol === 'https:' ? 443 : 80)));
  const ofAddress = listeners.find((each) => addresses.some((address) => isAt(each, address)));
  const taken = ofAddress ?? listeners.find((each) => ports.some((port) => each === `*:${port}`));
  if (taken === undefined) return;
  const change =
    ofAddress === undefined
      ? 'use another port in the manifest'
      : 'replace the address everywhere in the manifest, and delete the entry of its certificate (in the example mbus_tls) from the ' +
        'vars store, if there is one';
  const restore =
    restorable === undefined || ofAddress === undefined
      ? ''
      : "If that is this deployment's own VM, whose state file is missing, run: bosh-kubernetes state restore " +
        `${shellWord(restorable)}. Otherwise: `;
  throw new ProductError(
    'ADDRESS_TAKEN',
    `The address ${addresses.join(' and ')} of '${instanceGroup.name}' is in use: a process listens on ${taken} ('ss -ltnp' shows it); no ` +
      `VM was changed. ${restore}${restore === '' ? 'Stop' : 'stop'} that process, or ${change}`,
  );
}

/** Returns true if the process listens on this address at any port. */
export const isAt = (listener: Listener, address: string): boolean => listener.startsWith(`${address}:`);
