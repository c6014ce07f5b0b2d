import { isIP } from 'node:net';
import { MountError } from './mount-error.ts';
import type { ProgramResult } from './run-program.ts';

const outputLimit = 65_536;

/**
 * All addresses of a host, in the order in which they are to be tried. Throws MountError. A program looks the name
 * up, since a name server may never answer: in this process two look-ups would keep all others waiting, and no
 * deadline ends one.
 */
export async function addressesOfHost(
  host: string,
  run: (program: string, args: readonly string[], outputLimit: number) => Promise<ProgramResult>,
): Promise<readonly string[]> {
  if (isIP(host) !== 0) return [host];
  const { exitCode, stdout, stderr, wasKilled } = await run('getent', ['ahosts', host], outputLimit);
  if (wasKilled)
    throw new MountError('TIMED_OUT', "The server's name was not resolved in time: check the cell's DNS");
  const addresses = stdout.split('\n').flatMap((line) => {
    const [address = '', kind] = line.split(/\s+/u);
    return kind === 'STREAM' && isIP(address) !== 0 ? [address] : [];
  });
  if (exitCode === 0 && addresses.length > 0) return [...new Set(addresses)];
  throw new MountError(
    'UNREACHABLE',
    `The server's name has no address on this machine: check its spelling and the cell's DNS (${stderr.trim().slice(0, 300) || `getent: ${exitCode}`})`,
  );
}
