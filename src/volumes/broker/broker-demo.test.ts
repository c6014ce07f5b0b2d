import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

test("volumes broker --demo sends the requests of a binding's lifecycle and leaves no files", async () => {
  const main = join(import.meta.dirname, 'main.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [main, '--demo']);
  const statuses = [...stdout.matchAll(/^(\d{3}) [{]/gmu)].map(([, status]) => status);
  assert.deepEqual(statuses, ['200', '201', '201', '200', '200', '200', '200']);
  assert.equal(stdout.match(/^curl -sS -K '/gmu)?.length, 7);
  assert.match(stdout, /Every response is as OSBAPI requires it\.\n$/u);
  assert.doesNotMatch(stdout, /authorization|password/iu);
  const [, directory = ''] = /with a SQLite file in (\S+)/u.exec(stdout) ?? [];
  assert.equal(existsSync(directory), false);
});

test('prints the usage for unknown arguments', async () => {
  const main = join(import.meta.dirname, 'main.ts');
  for (const args of [[], ['--nothing'], ['--demo', '--config', 'x']])
    await assert.rejects(promisify(execFile)(process.execPath, [main, ...args]), /broker --config FILE/u);
});
