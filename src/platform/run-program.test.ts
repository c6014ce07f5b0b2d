import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { identifyProcess } from './process-identity.ts';
import { runProgram, signalGroup } from './run-program.ts';

const shell = (script: string, ...args: string[]) => ({
  file: '/bin/sh',
  args: ['-c', script, 'sh', ...args],
  environment: { PATH: process.env['PATH'] },
});

test('passes arguments and input unchanged and collects the output', async () => {
  const result = await runProgram({ ...shell('cat; echo "$1" >&2; exit 3', `a 'b" $c`), input: 'in' });

  assert.deepEqual(
    [result.stdout, result.stderr, result.exitCode, result.stopped],
    ['in', `a 'b" $c\n`, 3, undefined],
  );
});

test('a program that does not read its input is judged by its exit', async () => {
  const result = await runProgram({ ...shell('exit 0'), input: 'x'.repeat(1_000_000) });

  assert.equal(result.exitCode, 0);
});

test('at its deadline the program is killed with all that it started', async () => {
  const run = (timeoutMs: number) => runProgram({ ...shell('sleep 60 & echo $!; wait'), timeoutMs });

  // On a slow machine the program may not reach the echo within a short deadline.
  let result = await run(300);
  for (const deadline of [3000, 20_000]) if (result.stdout === '') result = await run(deadline);

  assert.equal(result.stopped, 'deadline');
  const grandchild = Number(result.stdout);
  assert.ok(grandchild > 0, result.stdout);
  while (identifyProcess(grandchild) !== undefined) await new Promise(setImmediate);
});

test('an interrupted program may end within the grace period', async () => {
  const interrupt = new AbortController();

  const result = await runProgram({
    ...shell('read line; echo done'),
    input: 'x\n',
    signal: interrupt.signal,
    graceMs: 60_000,
    onStart: () => interrupt.abort(),
  });

  assert.deepEqual([result.stdout, result.stopped], ['done\n', undefined]);
});

test('an interrupted program is killed after the grace period', async () => {
  const interrupt = new AbortController();

  const result = await runProgram({
    ...shell('sleep 60'),
    signal: interrupt.signal,
    graceMs: 10,
    onStart: () => interrupt.abort(),
  });

  assert.equal(result.stopped, 'interrupt');
});

test('a missing program causes a rejection', async () => {
  await assert.rejects(runProgram({ ...shell(''), file: '/nonexistent' }), { code: 'ENOENT' });
});

test('a program whose record could not be written is ended', async () => {
  let noted = 0;
  const onStart = (pid: number) => {
    noted = pid;
    throw new Error('no space left');
  };

  await assert.rejects(runProgram({ ...shell('sleep 60'), onStart }), /no space left/);

  while (identifyProcess(noted) !== undefined) await new Promise(setImmediate);
});

test('passes a secret on descriptor 3 and keeps the first bytes of a long output', async () => {
  const result = await runProgram({ ...shell('cat <&3; echo 12345'), secret: 'abc', stdoutLimit: 5 });

  assert.deepEqual([result.stdout, result.isStdoutCut, result.exitCode], ['abc12', true, 0]);
});

test('with a limit, does not wait for a background process that keeps output or descriptor 3 open', async () => {
  let pid = 0;
  const result = await runProgram({
    ...shell('read secret <&3; sleep 60 & echo $!'),
    secret: 'abc\n',
    endTimeoutMs: 300,
    onStart: (started) => void (pid = started),
  });
  const isStillOpen = identifyProcess(Number(result.stdout)) !== undefined;
  signalGroup(pid, 'SIGKILL');

  assert.ok(isStillOpen, 'the background process was waited for');
  assert.deepEqual([result.exitCode, result.stopped], [0, undefined]);
});

test('an interrupt neither kills nor reports a program that has exited, but ends the wait for its output', async () => {
  const interrupt = new AbortController();
  const started = Promise.withResolvers<number>();
  const run = runProgram({
    ...shell('sleep 60 & echo $!; read secret <&3'),
    secret: 'abc\n',
    signal: interrupt.signal,
    onStart: started.resolve,
  });
  const pid = await started.promise;
  while (existsSync(`/proc/${pid}`)) await new Promise(setImmediate);
  interrupt.abort();
  const result = await run;
  const wasLeft = identifyProcess(Number(result.stdout)) !== undefined;
  signalGroup(pid, 'SIGKILL');

  assert.ok(wasLeft, 'the background process was killed');
  assert.deepEqual([result.exitCode, result.stopped], [0, undefined]);
});

test('a program that cannot be killed causes a rejection', async (t) => {
  let pid = 0;
  const refuse = () => {
    throw Object.assign(new Error('kill EPERM'), { code: 'EPERM', syscall: 'kill' });
  };
  const kill = t.mock.method(process, 'kill', refuse);
  const run = runProgram({ ...shell('sleep 60'), timeoutMs: 10, onStart: (started) => void (pid = started) });

  await assert.rejects(run, { code: 'SIGNAL_REFUSED' });

  assert.throws(() => signalGroup(pid, 'SIGTERM'), { code: 'SIGNAL_REFUSED', message: /SIGTERM/ });
  kill.mock.restore();
  signalGroup(pid, 'SIGKILL');
});
