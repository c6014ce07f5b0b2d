import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

/** Creates a temporary directory for the test. It is removed with its content when the test ends. */
export async function scratchDirectory(test: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-deploy-'));
  test.after(() => rm(directory, { recursive: true, force: true }));
  return directory;
}
