import { chmod, copyFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';

/**
 * Writes into a node's runtime directory what the image's bosh-agent runs: `node`, and optionally
 * `agent.cjs`.
 */
export type TestAgent = (runtimeDirectory: string) => Promise<void>;

/** A process that only stays alive. */
export const idleAgent: TestAgent = async (directory) => {
  await writeFile(join(directory, 'node'), '#!/bin/sh\nexec sleep 1000000\n');
  await chmod(join(directory, 'node'), 0o755);
};

/** The agent of this project, built from the sources. */
export const ownAgent: TestAgent = async (directory) => {
  await symlink(process.execPath, join(directory, 'node'));
  await build({
    entryPoints: [join(import.meta.dirname, '../../agent/main.ts')],
    outfile: join(directory, 'agent.cjs'),
    bundle: true,
    platform: 'node',
    format: 'cjs',
    logLevel: 'error',
  });
};

/** An agent that uses mount(8) as upstream's does. */
export const upstreamAgent: TestAgent = async (directory) => {
  await copyFile(join(import.meta.dirname, 'upstream-agent.sh'), join(directory, 'node'));
  await chmod(join(directory, 'node'), 0o755);
};
