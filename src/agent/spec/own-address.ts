import { lookup } from 'node:dns/promises';
import { hostname, networkInterfaces } from 'node:os';
import { errorCode } from '../file/error-code.ts';

/**
 * Returns the VM's own IPv4 address: the one of its host name (the kubelet writes it to /etc/hosts),
 * otherwise the first one that is not loopback, otherwise an empty text.
 */
export async function ownAddress(): Promise<string> {
  const named = await addressOfHostname();
  if (named !== undefined && named !== '127.0.0.1' && named !== '127.0.1.1') return named;
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return addresses.find((entry) => entry.family === 'IPv4' && !entry.internal)?.address ?? named ?? '';
}

async function addressOfHostname(): Promise<string | undefined> {
  try {
    return (await lookup(hostname(), 4)).address;
  } catch (error) {
    const code = errorCode(error);
    if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return undefined;
    throw error;
  }
}
