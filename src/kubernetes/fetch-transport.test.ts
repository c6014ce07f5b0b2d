import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startHostileServers } from './testing/hostile-server.ts';
import { transportConformance } from './testing/transport-conformance.ts';

const architecture = process.arch === 'arm64' ? 'aarch64' : process.arch;
const bun = fileURLToPath(
  new URL(`../../node_modules/@oven/bun-${process.platform}-${architecture}/bin/bun`, import.meta.url),
);
const script = fileURLToPath(new URL('./testing/fetch-transport-conformance.ts', import.meta.url));

test('fetch transport, in Bun', async (t) => {
  if (!existsSync(bun)) {
    t.skip(`needs Bun's package for ${process.platform}-${architecture}`);
    return;
  }
  const { close, ...servers } = await startHostileServers();
  t.after(close);
  const child = spawn(bun, [script], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(JSON.stringify(servers));

  const lines = (await text(child.stdout)).trim().split('\n');

  const results = lines.map((line) => JSON.parse(line) as { name: string; error?: string });
  assert.equal(results.length, transportConformance.length);
  for (const { name, error } of results) {
    await t.test(name, () => assert.equal(error, undefined));
  }
});
