import { join } from 'node:path';
import type { Guest } from './guest.ts';
import { serverHost, shareUser } from './guest.ts';

/** The demo on an export that only one user enters, of a server that takes root for nobody. */
export async function demoOnShare(guest: Guest): Promise<{ code: number; text: string }> {
  const share = { share: `${serverHost}:/private`, uid: shareUser.uid, gid: shareUser.gid, version: '4.2' };
  const module = join(import.meta.dirname, 'demo-in-guest.ts');
  return guest.call('demoInGuest', [share, join(guest.folder, 'private')], module);
}
