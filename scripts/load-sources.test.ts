import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const script = fileURLToPath(new URL('load-sources.mjs', import.meta.url));
let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-sources-'));
});
after(() => rm(folder, { recursive: true }));

/** Says whether a process that runs the file removes types itself: it compiles the program that does. */
const tells = `data:text/javascript,${encodeURIComponent(
  `const { Module } = WebAssembly;
   WebAssembly.Module = new Proxy(Module, {
     construct: (target, words) => { console.log('removes types'); return new target(...words); },
   });`,
)}`;

test('every source is in the cache then, and none has run', async () => {
  const sources = join(folder, 'sources');
  await mkdir(join(sources, 'below'), { recursive: true });
  await writeFile(join(sources, 'package.json'), '{ "type": "module" }');
  await writeFile(join(sources, 'ran.ts'), `import './below/used.ts'; console.log('ran' satisfies string);`);
  await writeFile(join(sources, 'below', 'used.ts'), `console.log('used' as string);`);
  const env = { ...process.env, NODE_OPTIONS: '', NODE_COMPILE_CACHE: join(folder, 'cache') };
  const runs = ['--import', tells, join(sources, 'ran.ts')];
  const without = { ...env, NODE_COMPILE_CACHE: join(folder, 'other-cache') };
  assert.equal((await run(process.execPath, runs, { env: without })).stdout, 'removes types\nused\nran\n');

  assert.equal((await run(process.execPath, [script, sources], { env })).stdout, '');

  assert.ok((await readdir(join(folder, 'cache'))).length > 0);
  assert.equal((await run(process.execPath, runs, { env })).stdout, 'used\nran\n');
});
