import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

test('volumes broker --try goes through the life of a binding and leaves nothing', async () => {
  const main = join(import.meta.dirname, 'main.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [main, '--try']);
  const statuses = [...stdout.matchAll(/^(\d{3}) [{]/gmu)].map(([, status]) => status);
  assert.deepEqual(statuses, ['200', '201', '201', '200', '200', '200', '200']);
  assert.equal(stdout.match(/^curl -sS -K '/gmu)?.length, 7);
  assert.match(stdout, /Every answer is as OSBAPI has it\.\n$/u);
  assert.doesNotMatch(stdout, /authorization|password/iu);
  const [, folder = ''] = /with a SQLite file in (\S+)/u.exec(stdout) ?? [];
  assert.equal(existsSync(folder), false);
});

test('words that are none get the usage', async () => {
  const main = join(import.meta.dirname, 'main.ts');
  for (const words of [[], ['--nothing'], ['--try', '--config', 'x']])
    await assert.rejects(promisify(execFile)(process.execPath, [main, ...words]), /broker --config FILE/u);
});
