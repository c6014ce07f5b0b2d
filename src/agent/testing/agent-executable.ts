import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { TestContext } from 'node:test';
import { scratchDirectory } from '../../bosh/testing/scratch.ts';

/** Why the executable cannot be tested here, as the reason to skip. */
export const noAgentExecutable: string | false =
  !(process.platform === 'linux' && process.arch === 'x64') && 'needs Linux on x86-64';

/** Builds the agent as it is in a stemcell, on Bun, in a directory of the test, and returns its path. */
export async function buildAgentExecutable(t: TestContext): Promise<string> {
  const path = join(await scratchDirectory(t), 'bosh-agent');
  await promisify(execFile)(process.execPath, [
    join(import.meta.dirname, '../../../scripts/build-agent.ts'),
    path,
  ]);
  return path;
}
