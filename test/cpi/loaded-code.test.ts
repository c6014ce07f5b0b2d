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
  for (const file of ['src/cpi/main.ts', ...files]) {
    const { found, seen } = loadedBy(metafile, file);
    assert.deepEqual(found, [], file);
    // YAML for a kubeconfig, WebSockets for an exec
    const packages = seen.filter((path) => path.startsWith('node_modules/'));
    assert.deepEqual(packages, [], `${file} loads packages`);
  }
  const ofInfo = loadedBy(metafile, 'src/cpi/main.ts').seen.filter(
    (path) => !/^src\/(errors|cpi\/(process|[a-z]+\.ts))/u.test(path),
  );
  assert.deepEqual(ofInfo, [], 'info loads what it does not need');
});

/** What an entry imports by statements, which run before its first line: files, and `file < module of Node`. */
function loadedBy({ inputs }: Metafile, entry: string): { found: string[]; seen: string[] } {
  const seen = new Set([entry]);
  const found: string[] = [];
  for (const file of seen) {
    for (const { path, kind, external } of inputs[file]?.imports ?? []) {
      if (kind !== 'import-statement') continue;
      if (external === true) found.push(`${file} < ${path}`);
      else seen.add(path);
    }
  }
  return { found, seen: [...seen] };
}
