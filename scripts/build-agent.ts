import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildExecutable } from './build-executable.ts';
import { packagesOf } from './bundle-for-node.ts';
import { runtimes, writeNotices } from './write-notices.ts';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/**
 * Builds the agent into one executable, `outFile`, with LICENSE and NOTICE of what it holds beside it; undefined where Bun cannot be run
 * to make it.
 */
async function buildAgent(outFile: string): Promise<string | undefined> {
  const entry = join(root, 'src', 'agent', 'main.ts');
  await mkdir(dirname(outFile), { recursive: true });
  const built = await buildExecutable(entry, outFile);
  if (built !== undefined) await writeNotices(dirname(outFile), [...(await packagesOf(entry)), runtimes.bun]);
  return built;
}

if (import.meta.main) {
  // who ends this ends the compiler, too (src/cli/stemcell/build-agent.ts): what that left is removed first
  process.on('SIGTERM', () => undefined);
  const built = await buildAgent(process.argv[2] ?? join(root, 'dist', 'agent', 'bosh-agent'));
  process.stdout.write(`${built ?? 'no executable: Bun is for Linux on x86-64'}\n`);
}
