import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { recordLine } from '../../trace/testing/record-line.ts';
import { recordOutput } from '../testing/record-output.ts';
import { trace } from './trace.ts';

const root = join(import.meta.dirname, '../../..');

async function folderWith(
  t: TestContext,
  log: string,
): Promise<{ log: string; at: (name: string) => string }> {
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-trace-'));
  t.after(() => rm(directory, { recursive: true }));
  const at = (name: string): string => join(directory, name);
  await writeFile(at('log'), log);
  return { log: at('log'), at };
}

async function run(...args: readonly string[]): Promise<string> {
  const output = recordOutput();
  assert.equal(await trace.run(args, output.context), 0);
  return output.out;
}

test('the slowest calls are printed, and page and picture are written and written again', async (t) => {
  const calls = [
    recordLine(0, 40_000, { method: 'create_vm', cids: ['vm-2'] }),
    recordLine(39_000, 20, { result: 'Bosh::Clouds::VMNotFound' }),
  ];
  const { log, at } = await folderWith(t, `${calls.join('\n')}\n{"bosh_kubernetes_cpi":1,`);
  for (const name of ['page.html', 'picture.svg', 'page.html']) {
    const out = await run(log, '--out', at(name));
    assert.match(out, /^2 CPI calls from 2026-01-01 00:00:00 to 2026-01-01 00:00:40 UTC, 1 failed, 40 s/u);
    assert.match(out, /\n1 of the log's records could not be read/u);
    assert.match(out, /create_vm +40 s +read objects 40 s +vm-2 +ok\nhas_vm +20 ms .*VMNotFound\n/u);
    assert.ok(out.endsWith(`Written to ${at(name)}\n`), out);
  }
  assert.match(await readFile(at('page.html'), 'utf8'), /^<!doctype html>[^]*<svg [^]*<\/html>\n$/u);
  assert.match(await readFile(at('picture.svg'), 'utf8'), /^<svg [^]*<\/svg>\n$/u);
});

test('a log without records, a missing one and a folder are refused with the next step', async (t) => {
  const { log, at } = await folderWith(t, '{"result":null,"error":null,"log":""}\nTask 12 done\n');
  const out = ['--out', at('page.html')];
  const refused = (code: string, message: RegExp, ...args: readonly string[]): Promise<void> =>
    assert.rejects(trace.run([...args, ...out], recordOutput().context), { code, message });
  await refused('TRACE_EMPTY', /has no record of a CPI call; give the file <state>\.trace/u, log);
  await refused('FILE_NOT_FOUND', /there is no file .*<state>\.trace/u, at('missing'));
  await refused('FILE_NOT_FOUND', /is a directory; name the log/u, at('.'));
  await refused('FILE_NOT_FOUND', /there is no file/u, at('log/x'));
  await writeFile(log, recordLine(0, 1, { bosh_kubernetes_cpi: 7 }));
  await refused('TRACE_EMPTY', /none of the 1 records .* damaged or of another version/u, log);
  await assert.rejects(readFile(at('page.html')), { code: 'ENOENT' });
});

test('a file that the command did not write is not replaced', async (t) => {
  const { log, at } = await folderWith(t, recordLine(0, 1));
  await writeFile(at('mine.html'), 'my notes');
  await assert.rejects(trace.run([log, '--out', at('mine.html')], recordOutput().context), {
    code: 'FILE_EXISTS',
    message: /was not written by this command; name another file with --out/u,
  });
  assert.equal(await readFile(at('mine.html'), 'utf8'), 'my notes');
  for (const args of [[], [log, log], [log, '--out', at('page.pdf')]])
    await assert.rejects(trace.run(args, recordOutput().context), { code: 'INVALID_ARGUMENT' });
});

test('an interrupt while the log is read ends the command without an output', async (t) => {
  const { log, at } = await folderWith(t, recordLine(0, 1));
  for (const name of ['page.html', 'picture.svg']) {
    const signal = AbortSignal.abort(new Error('interrupted by SIGINT'));
    await assert.rejects(trace.run([log, '--out', at(name)], { ...recordOutput().context, signal }), {
      code: 'INTERRUPTED',
      message: 'No timeline was written: interrupted by SIGINT; run the same command again',
    });
    await assert.rejects(readFile(at(name)), { code: 'ENOENT' });
  }
});

test('an --out that cannot be written is refused before the log is read', async (t) => {
  const { at } = await folderWith(t, '');
  await mkdir(at('folder.html'));
  spawnSync('mkfifo', [at('pipe.html')]);
  for (const [name, code] of [
    ['none/x.html', 'FILE_NOT_WRITABLE'],
    ['log/x.html', 'FILE_NOT_WRITABLE'],
    [`${'x'.repeat(300)}.html`, 'FILE_NOT_WRITABLE'],
    ['folder.html', 'FILE_EXISTS'],
    ['pipe.html', 'FILE_EXISTS'],
  ] as const)
    await assert.rejects(
      trace.run([at('missing'), '--out', at(name)], recordOutput().context),
      { code },
      name,
    );
});

test('the output of bosh task on stdin is read; docs/images/trace.svg is the picture of its log', async (t) => {
  const { at } = await folderWith(t, '');
  const input = await readFile(join(root, 'docs/images/trace.jsonl'));
  const main = join(root, 'src/cli/main.ts');
  const { status, stderr } = spawnSync(process.execPath, [main, 'trace', '-', '--out', at('again.svg')], {
    input,
  });
  assert.equal(status, 0, stderr.toString());
  const [drawn, committed] = await Promise.all(
    [at('again.svg'), join(root, 'docs/images/trace.svg')].map((path) => readFile(path, 'utf8')),
  );
  assert.equal(
    drawn,
    committed,
    'run: node bin/bosh-kubernetes.mjs trace docs/images/trace.jsonl --out docs/images/trace.svg',
  );
});
