import assert from 'node:assert/strict';
import { appendFile, chown, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { scratchDirectory } from '../testing/scratch.ts';
import { CallLog, callLogPathFor } from './call-log.ts';

const portsOf = (warnings: string[]) => ({
  warn: (line: string) => void warnings.push(line),
  redact: (text: string) => text.replaceAll('hunter2', '<redacted>'),
});

test('a secret in the message of a record is not kept', async (t) => {
  const statePath = join(await scratchDirectory(t), 'state.json');
  const log = new CallLog(statePath, portsOf([]));
  log.append('{"bosh_kubernetes_cpi":1,"method":"create_vm","message":"Invalid value: \\"hunter2\\""}');
  log.append('{"bosh_kubernetes_cpi":1,"result":"hunter2');
  assert.equal(
    await readFile(callLogPathFor(statePath), 'utf8'),
    '{"bosh_kubernetes_cpi":1,"method":"create_vm","message":"Invalid value: \\"<redacted>\\""}\n' +
      '{"bosh_kubernetes_cpi":1,"result":"<redacted>\n',
  );
});

test('records are appended to a private file, which loses its older half when it is too long', async (t) => {
  const statePath = join(await scratchDirectory(t), 'state.json');
  const path = callLogPathFor(statePath);
  const warnings: string[] = [];
  const log = new CallLog(statePath, portsOf(warnings));
  log.limit();
  await assert.rejects(stat(path), { code: 'ENOENT' });

  log.append('one');
  log.append('two');
  log.limit();
  assert.equal(await readFile(path, 'utf8'), 'one\ntwo\n');
  const line = 'x'.repeat(999);
  await appendFile(path, `${line}\n`.repeat(1100));
  log.limit();
  log.append('last');

  const lines = (await readFile(path, 'utf8')).trimEnd().split('\n');
  assert.deepEqual([...new Set(lines)], [line, 'last']);
  assert.ok(lines.length > 500 && lines.length < 530, String(lines.length));
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  assert.deepEqual(warnings, []);
});

test("a link, a folder or another user's file in its place gets no record, and one warning tells it", async (t) => {
  const directory = await scratchDirectory(t);
  const victim = join(directory, 'victim');
  await writeFile(victim, 'whole');
  const [linked, folder, foreign] = ['linked', 'victim/x', 'foreign'].map((name) => join(directory, name));
  assert.ok(linked !== undefined && folder !== undefined && foreign !== undefined);
  await symlink(victim, callLogPathFor(linked));
  await writeFile(callLogPathFor(foreign), '');
  const isRoot = process.getuid?.() === 0;
  if (isRoot) await chown(callLogPathFor(foreign), 65534, 65534);
  for (const statePath of [linked, folder, ...(isRoot ? [foreign] : [])]) {
    const warnings: string[] = [];
    const log = new CallLog(statePath, portsOf(warnings));
    log.limit();
    log.append('one');
    log.append('two');
    assert.equal(warnings.length, 1);
    assert.match(warnings[0] ?? '', /\.trace' cannot be written .*; the run does not need them\. Remove/u);
  }
  assert.equal(await readFile(victim, 'utf8'), 'whole');
});
