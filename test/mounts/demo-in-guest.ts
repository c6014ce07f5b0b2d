// Runs in the guest.
import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { promisify } from 'node:util';
import { runDemo } from '../../src/volumes/demo/run-demo.ts';
import type { DemoShare } from '../../src/volumes/demo/run-demo.ts';

const server = '/mnt/server';

/** The demo with a share of the suite's server; `folder`: where the host has the files. */
export async function demoInGuest(
  share: Omit<DemoShare, 'serverFolder'>,
  folder: string,
): Promise<{ code: number; text: string }> {
  await mkdir(server);
  // the host's files as the host has them, not by NFS
  await promisify(execFile)('mount', ['-t', 'hostfs', '-o', folder, 'none', server]);
  let text = '';
  const out = (part: string): void => void (text += part);
  const signal = new AbortController().signal;
  const code = await runDemo({ share: { ...share, serverFolder: server }, out, signal });
  return { code, text };
}
