import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { bundleForNode } from './bundle-for-node.ts';
import { requireHttp } from './require-http.ts';

const program = `import http, { STATUS_CODES } from 'node:http';
const loaded = process.moduleLoadList.filter((name) => name.includes('undici'));
console.log(JSON.stringify([loaded.length, STATUS_CODES[404], typeof http.request]));
`;
const banner = {
  js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
};

test('an ES module bundle that imports node:http has all of its exports, and does not load its WebSocket', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'require-http-'));
  t.after(() => rm(directory, { recursive: true }));
  await writeFile(join(directory, 'entry.mjs'), program);
  const report = async (name: string, plugins: [] | [typeof requireHttp]): Promise<unknown> => {
    const bundle = join(directory, name);
    await bundleForNode(join(directory, 'entry.mjs'), bundle, { format: 'esm', banner, plugins });
    return JSON.parse((await promisify(execFile)(process.execPath, [bundle])).stdout) as unknown;
  };
  assert.deepEqual(await report('with.mjs', [requireHttp]), [0, 'Not Found', 'function']);
  // if a newer Node no longer loads it without the plugin, the plugin can be removed
  assert.notDeepEqual(await report('without.mjs', []), [0, 'Not Found', 'function']);
});
