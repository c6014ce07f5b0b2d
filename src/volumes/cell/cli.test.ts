import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { runCell } from './cli.ts';
import { notRoot } from './testing/test-cell.ts';

test('an unreadable binding is named, with the expected input', { skip: notRoot }, async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-run-cell-'));
  t.after(() => rm(directory, { recursive: true }));
  const ports = { out: () => undefined, signal: t.signal };
  for (const [path, what] of [
    [directory, /cannot be read \(EISDIR\)/u],
    [join(directory, 'missing'), /does not exist/u],
  ] as const) {
    const running = runCell(['run', '--binding', path, '--state', directory, '--', 'true'], ports);
    await assert.rejects(running, (error: Error) => {
      assert.match(error.message, what);
      assert.match(error.message, /give the file with the response to a bind as --binding/u);
      return true;
    });
  }
});

test('a cell without drivers names the searched directory', { skip: notRoot }, async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-run-cell-'));
  t.after(() => rm(directory, { recursive: true }));
  const lines: string[] = [];
  const ports = { out: (text: string) => void lines.push(text), signal: t.signal };
  assert.equal(await runCell(['drivers', '--drivers', directory], ports), 0);
  assert.equal(lines.join(''), `no driver responds that has a spec file in ${directory}\n`);
});
