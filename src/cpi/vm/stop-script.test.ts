import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { stopScript } from './stop-script.ts';

const run = promisify(execFile);

test('PID 1 gets TERM, and SIGRTMIN+3 where it is systemd', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'stop-'));
  t.after(() => rm(folder, { recursive: true }));
  const told = async (booted: string): Promise<string> => {
    const script = `kill() { echo "$*"; }\n${stopScript.replace('/run/systemd/system', booted)}`;
    return (await run('/bin/sh', ['-c', script])).stdout;
  };
  assert.equal(await told(join(folder, 'none')), '-TERM 1\n');
  assert.equal(await told(folder), '-37 1\n');
});
