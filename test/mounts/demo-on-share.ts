import { join } from 'node:path';
import type { DemoShare } from '../../src/volumes/demo/cli.ts';
import type { Guest } from './guest.ts';
import { serverHost, shareUser } from './guest.ts';

/** The password with which the guest of a demo boots. */
export const demoPassword = 'opens-the-share-of-the-demo';

/**
 * Runs the demo on a share of the guest's server. With NFS it is an export that only one user can enter, on a
 * server that maps root to nobody. With SMB it is the share of the same user.
 */
export async function demoOnShare(
  guest: Guest,
  protocol: DemoShare['protocol'],
): Promise<{ code: number; text: string }> {
  const { name: username, uid, gid } = shareUser;
  const shares = {
    nfs: {
      ...{ protocol: 'nfs', share: `${serverHost}:/private`, version: '4.2', uid, gid },
      serverDirectory: join(guest.directory, 'private'),
    },
    smb: {
      ...{ protocol: 'smb', share: `//${serverHost}/share`, version: '3.1.1', uid, gid },
      ...{ username, password: demoPassword },
      serverDirectory: join(guest.directory, 'share'),
    },
  } as const satisfies Record<string, DemoShare>;
  return guest.call('demoInGuest', [shares[protocol]], join(import.meta.dirname, 'demo-in-guest.ts'));
}
