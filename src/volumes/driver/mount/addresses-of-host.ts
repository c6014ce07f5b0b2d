import { isIP } from 'node:net';
import { MountError } from './mount-error.ts';
import type { MountProgramResult } from './run-program.ts';

const outputLimit = 65_536;

/**
 * Returns all addresses of a host, in the order in which to try them. Throws MountError. It runs getent,
 * because a name server may never respond: in this process two pending look-ups would block all others, and
 * no deadline can end a look-up.
 */
export async function addressesOfHost(
  host: string,
  run: (program: string, args: readonly string[], outputLimit: number) => Promise<MountProgramResult>,
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
