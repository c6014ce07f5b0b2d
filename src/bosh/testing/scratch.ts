import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

/** Creates a directory for one test, which is removed when the test ends. */
export async function scratchDirectory(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'bosh-formats-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  return directory;
}
