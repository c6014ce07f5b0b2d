import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { Metafile } from 'esbuild';

const root = fileURLToPath(new URL('../..', import.meta.url));
const main = 'src/cpi/main.ts';

test('no call loads a module of Node before it needs it: some cost more than the rest of the call', async () => {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [main],
    outdir: '/unwritten',
    bundle: true,
    format: 'esm',
    platform: 'node',
    external: ['bufferutil', 'utf-8-validate'],
    metafile: true,
    splitting: true,
    write: false,
  });
  const verbs = loadedLater(metafile, 'src/cpi/protocol/methods.ts');
  assert.ok(verbs.length > 20);
  const ofEveryCall = ['src/cpi/answer.ts', main].flatMap((file) => loadedLater(metafile, file));
  const inBun = [main, ...verbs, ...ofEveryCall].filter(
    (file) => file !== 'src/cpi/protocol/node-process.ts',
  );
  for (const file of inBun) {
    const { found, seen } = loadedBy(metafile, file);
    assert.deepEqual(found, [], file);
    // YAML for a kubeconfig, WebSockets for an exec
    const packages = seen.filter((path) => path.startsWith('node_modules/'));
    assert.deepEqual(packages, [], `${file} loads packages`);
  }
  const ofInfo = loadedBy(metafile, main).seen.filter(
    (path) => !/^src\/(errors|bosh\/cpi-record\.ts|cpi\/(protocol|[a-z]+\.ts))/u.test(path),
  );
  assert.deepEqual(ofInfo, [], 'info loads what it does not need');
});

/** Returns the files that a file imports on demand. */
const loadedLater = ({ inputs }: Metafile, file: string): string[] =>
  (inputs[file]?.imports ?? []).filter(({ kind }) => kind === 'dynamic-import').map(({ path }) => path);

/**
 * Returns the static imports of an entry, which load before its first line runs: files, and `file < module of
 * Node`.
 */
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
