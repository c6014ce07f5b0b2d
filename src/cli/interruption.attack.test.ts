import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { scratchDirectory } from '../bosh/testing/scratch.ts';

/**
 * Returns the pipe opened for writing, once a process reads from it: that process waits for what is written.
 */
async function writingEnd(pipe: string): Promise<FileHandle> {
  for (;;) {
    try {
      return await open(pipe, constants.O_WRONLY | constants.O_NONBLOCK);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENXIO') throw error;
      await setTimeout(20);
    }
  }
}

/** Resolves when nothing reads from the pipe any more. */
async function untilUnread(pipe: FileHandle): Promise<void> {
  for (;;) {
    try {
      await pipe.write('\n');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EPIPE') return;
      throw error;
    }
    await setTimeout(20);
  }
}

const launcher = join(import.meta.dirname, '../../bin/bosh-kubernetes.mjs');
const cases = [
  ['SIGTERM', 'a command', join(import.meta.dirname, 'main.ts')],
  ['SIGTERM', 'a command with its launcher', launcher],
  ['SIGKILL', 'a command with its launcher', launcher],
] as const;

for (const [signal, what, program] of cases) {
  const title = `one ${signal} ends ${what} that waits for a pipe`;
  test(title, { timeout: 120_000 }, async (t) => {
    const directory = await scratchDirectory(t);
    const pipe = join(directory, 'manifest.yml');
    execFileSync('mkfifo', [pipe]);
    const child = spawn(process.execPath, [program, 'create-env', pipe], {
      env: { PATH: process.env['PATH'], HOME: directory, BOSH_KUBERNETES_HOME: join(directory, 'home') },
      stdio: 'ignore',
    });
    t.after(() => child.kill('SIGKILL'));
    await using pipeWriter = await writingEnd(pipe);
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
    await untilUnread(pipeWriter);
  });
}
