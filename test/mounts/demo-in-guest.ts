// Runs in the guest.
import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { runDemo } from '../../src/volumes/demo/cli.ts';
import type { DemoShare } from '../../src/volumes/demo/cli.ts';

/** Runs the demo with a share of the suite's server, whose directory is on the host. */
export async function demoInGuest(share: DemoShare): Promise<{ code: number; text: string }> {
  const server = join('/mnt/server', share.protocol);
  await mkdir(server, { recursive: true });
  // accesses the host's files directly, not through NFS or SMB
  await promisify(execFile)('mount', ['-t', 'hostfs', '-o', share.serverDirectory, 'none', server]);
  let text = '';
  const out = (part: string): void => void (text += part);
  const signal = new AbortController().signal;
  const code = await runDemo({ share: { ...share, serverDirectory: server }, out, signal });
  return { code, text };
}
