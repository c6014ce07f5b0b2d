import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { checkout } from '../../support/embedded-line.ts';
import type { UpstreamAgent } from '../../support/upstream-programs.ts';
import { codeDigest } from '../../support/code-digest.ts';

/**
 * Returns the digest of everything that a stemcell of the suite is made from: its agent, the files for its
 * root, its builder and packages.
 */
export async function stemcellDigest(
  packages: readonly string[],
  upstream: UpstreamAgent | undefined,
): Promise<string> {
  const hash = createHash('sha256').update(packages.join(' '));
  hash.update(await codeDigest('src/cli/stemcell/build.ts'));
  hash.update(await readFile(join(checkout, 'package-lock.json')));
  const programs =
    upstream === undefined
      ? [await codeDigest('src/agent/main.ts'), await codeDigest('scripts/build-agent.ts')]
      : [await readFile(upstream.agent), await readFile(upstream.monit)];
  for (const program of programs) hash.update(program);
  for (const asset of await assetsBelow('src/stemcell'))
    hash.update(asset).update(await readFile(join(checkout, asset)));
  return hash.digest('hex').slice(0, 12);
}

/** Returns the files that the builder reads when it runs. */
async function assetsBelow(path: string): Promise<string[]> {
  const entries = await readdir(join(checkout, path), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.ts'))
    .map((entry) => relative(checkout, join(entry.parentPath, entry.name)))
    .toSorted();
}
