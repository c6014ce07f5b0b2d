import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { scratchDirectory } from '../../bosh/testing/scratch.ts';
import { knownSecrets } from '../../errors/redact/redactor.ts';
import { jsonTerminal } from './json-terminal.ts';
import { printBlock, printTable, redactingTerminal } from './terminal.ts';

test('all output is one object, without secrets in any part of it', () => {
  const written: string[] = [];
  const json = jsonTerminal((text) => void written.push(text));
  const secrets = knownSecrets();
  secrets.add(['s3cret-value']);
  const terminal = redactingTerminal(json.terminal, secrets.redact);
  terminal.out('\nStarted s3cret-value\nFinished\n\n');
  printTable(terminal, {
    content: 'jobs',
    header: ['Job', 'OS Version'],
    rows: [
      ['a', 's3cret-value'],
      ['b', '\u001b'],
    ],
  });
  printBlock(terminal, 'text: s3cret-value\n');
  terminal.error('failed: s3cret-value\nnext');
  assert.deepEqual(written, []);
  json.finish(3);
  assert.equal(written.length, 1);
  const [text = ''] = written;
  assert.doesNotMatch(text, /s3cret-value/u);
  const { Tables, Blocks, Lines } = JSON.parse(text) as Record<string, unknown[]>;
  assert.deepEqual((Tables as { Header: object }[])[0]?.Header, { job: 'Job', os_version: 'OS Version' });
  assert.equal(Blocks?.length, 1);
  assert.equal(Lines?.length, 4);
  assert.equal(Lines.at(-1), 'Exit code 3');
});

test('create-env --json: the error is a line on stdout, and the exit code is 1', async (t) => {
  const home = await scratchDirectory(t);
  const args = [join(import.meta.dirname, '..', 'main.ts'), 'create-env', 'none.yml', '--json'];
  const env = { PATH: process.env['PATH'], HOME: home, BOSH_KUBERNETES_HOME: join(home, 'kept') };
  const { code, stdout, stderr } = await new Promise<{ code: unknown; stdout: string; stderr: string }>(
    (resolve) => {
      execFile(process.execPath, args, { cwd: home, env }, (error, out, errors) => {
        resolve({ code: error?.code, stdout: out, stderr: errors });
      });
    },
  );
  const { Tables, Lines } = JSON.parse(stdout) as { Tables: null; Lines: readonly string[] };
  assert.deepEqual([code, stderr, Tables, Lines.at(-1)], [1, '', null, 'Exit code 1']);
  assert.match(Lines.join('\n'), /none\.yml/u);
});
