import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildExecutable } from './build-executable.ts';
import { packagesOf } from './bundle-for-node.ts';
import { runtimes, writeNotices } from './write-notices.ts';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/**
 * Builds the agent into one executable, `outFile`, with LICENSE and NOTICE of its content beside it. Returns
 * undefined if Bun cannot run here to build it.
 */
export async function buildAgent(outFile: string): Promise<string | undefined> {
  const entry = join(root, 'src', 'agent', 'main.ts');
  await mkdir(dirname(outFile), { recursive: true });
  const built = await buildExecutable(entry, outFile);
  if (built !== undefined) await writeNotices(dirname(outFile), [...(await packagesOf(entry)), runtimes.bun]);
  return built;
}

if (import.meta.main) {
  // a caller that stops the build also stops the compiler (src/cli/stemcell/build.ts): this process
  // then removes the compiler's temporary files
  process.on('SIGTERM', () => undefined);
  const built = await buildAgent(process.argv[2] ?? join(root, 'dist', 'agent', 'bosh-agent'));
  process.stdout.write(`${built ?? 'no executable: Bun is for Linux on x86-64'}\n`);
}
