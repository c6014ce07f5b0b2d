import { existsSync } from 'node:fs';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packRelease } from '../../../src/bosh/release/pack-release.ts';

export const root = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))));

const executable = join(root, 'dist', 'cpi', 'cpi');

/** True if the executable was built. Without it `packCpiVariant` needs a `node_path`. */
export const hasExecutable = existsSync(executable);

/**
 * Packs the CPI's release with `script` as `bin/cpi` and the real one beside it as `bin/cpi-real`. The
 * executable is replaced by a script that runs the one in dist, because these tests need not pack and install
 * 100 MB.
 */
export async function packCpiVariant(script: string, scratch: string, outFile: string): Promise<void> {
  const directory = join(scratch, 'cpi-release');
  await cp(join(root, 'release'), directory, { recursive: true });
  const sources = join(directory, 'src', 'bosh_kubernetes_cpi');
  await mkdir(sources, { recursive: true });
  await cp(join(root, 'dist', 'cpi', 'cpi.cjs'), join(sources, 'cpi.cjs'));
  const word = `#!/bin/sh\nexec '${executable}' "$@"\n`;
  if (hasExecutable) await writeFile(join(sources, 'cpi'), word, { mode: 0o755 });
  const job = join(directory, 'jobs', 'kubernetes_cpi');
  await cp(join(job, 'templates', 'cpi.erb'), join(job, 'templates', 'cpi-real.erb'));
  await writeFile(join(job, 'templates', 'cpi.erb'), script);
  const spec = await readFile(join(job, 'spec'), 'utf8');
  await writeFile(
    join(job, 'spec'),
    spec.replace('cpi.erb: bin/cpi\n', (line) => `${line}  cpi-real.erb: bin/cpi-real\n`),
  );
  await packRelease({ directory, version: '0.0.0', outFile });
}
