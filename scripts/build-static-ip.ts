import { mkdir } from 'node:fs/promises';
import { join, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildExecutable } from './build-executable.ts';
import { runtimes, writeNotices } from './write-notices.ts';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/**
 * Builds the CNI plugin and its installer into one executable, `static-ip` in `outDirectory`, with LICENSE
 * and NOTICE. Returns undefined on platforms that Bun does not support.
 */
export async function buildStaticIp(outDirectory: string): Promise<string | undefined> {
  await mkdir(outDirectory, { recursive: true });
  const built = await buildExecutable(join(root, 'src', 'cni', 'main.ts'), join(outDirectory, 'static-ip'));
  // it contains no package
  if (built !== undefined) await writeNotices(outDirectory, [runtimes.bun]);
  return built;
}

if (import.meta.main) {
  const built = await buildStaticIp(process.argv[2] ?? join(root, 'dist', 'static-ip'));
  process.stdout.write(`${built ?? 'no executable: Bun is for Linux on x86-64'}\n`);
}
