import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { Metafile } from 'esbuild';

const root = fileURLToPath(new URL('../..', import.meta.url));
const calls = 'src/cpi/calls';

test('no call loads a module of Node before it needs it: some cost more than the rest of the call', async () => {
  const files = (await readdir(join(root, calls))).map((name) => `${calls}/${name}`);
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: ['src/cpi/main.ts', ...files],
    outdir: '/unwritten',
    bundle: true,
    format: 'esm',
    platform: 'node',
    external: ['bufferutil', 'utf-8-validate'],
    metafile: true,
    splitting: true,
    write: false,
  });
  for (const file of ['src/cpi/main.ts', ...files]) assert.deepEqual(loadedOfNode(metafile, file), [], file);
});

/** `file < module of Node` for all that an entry imports by statements, which run before its first line. */
function loadedOfNode({ inputs }: Metafile, entry: string): string[] {
  const seen = new Set([entry]);
  const found: string[] = [];
  for (const file of seen) {
    for (const { path, kind, external } of inputs[file]?.imports ?? []) {
      if (kind !== 'import-statement') continue;
      if (external === true) found.push(`${file} < ${path}`);
      else seen.add(path);
    }
  }
  return found;
}
