import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildExecutable } from './build-executable.ts';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Builds the agent into one executable, `outFile`; undefined where Bun cannot be run to make it. */
async function buildAgent(outFile: string): Promise<string | undefined> {
  await mkdir(dirname(outFile), { recursive: true });
  return buildExecutable(join(root, 'src', 'agent', 'main.ts'), outFile);
}

if (import.meta.main) {
  // who ends this ends the compiler, too (src/cli/stemcell/build-agent.ts): what that left is removed first
  process.on('SIGTERM', () => undefined);
  const built = await buildAgent(process.argv[2] ?? join(root, 'dist', 'agent', 'bosh-agent'));
  process.stdout.write(`${built ?? 'no executable: Bun is for Linux on x86-64'}\n`);
}
