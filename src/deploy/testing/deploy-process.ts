/**
 * A deployer that can be killed: `deploy-process.ts <options as JSON>`. With `command: 'delete'` it runs
 * delete-env. With `killAt` it kills itself as soon as it has written a text that contains this string, which
 * is right after the previous step was recorded. With `killAtWrite` it kills itself after it has written the
 * state file so often since then. With `fillAt` it fills the file system of the state file at that moment.
 */
import { randomUUID } from 'node:crypto';
import fs, { closeSync, openSync, writeSync } from 'node:fs';
import { flushCompileCache, syncBuiltinESMExports } from 'node:module';
import { dirname, join } from 'node:path';
import { systemClock } from '../../platform/clock.ts';
import { errorChain } from '../../platform/error-chain.ts';
import { createEnv } from '../create-env.ts';
import { deleteEnv } from '../delete-env.ts';
import type { CreateEnvOptions } from '../options.ts';

interface Wish {
  readonly killAt?: string;
  readonly killAtWrite?: number;
  readonly fillAt?: string;
  readonly command?: 'create' | 'delete';
}

const wish = JSON.parse(process.argv[2] ?? '') as CreateEnvOptions & Wish;
const { killAt, killAtWrite, fillAt, command, ...options } = wish;
let written = '';
let isFull = false;
if (killAtWrite !== undefined) killAfterWrites(killAtWrite);
// A killed process would not write the compile cache.
flushCompileCache();

try {
  await (command === 'delete' ? deleteEnv : createEnv)(options, {
    write: (text) => {
      written += text;
      if (killAt !== undefined && written.includes(killAt) && killAtWrite === undefined) killSelf();
      if (fillAt !== undefined && written.includes(fillAt) && !isFull) fill();
    },
    warn: (message) => process.stderr.write(`${message}\n`),
    redact: (text) => text,
    clock: systemClock,
    uuid: randomUUID,
    environment: process.env,
  });
} catch (error) {
  process.stderr.write(`${errorChain(error).join('\n')}\n`);
  process.exitCode = 1;
}

function killSelf(): void {
  process.kill(process.pid, 'SIGKILL');
}

/** Counts renames, because files are replaced by a rename (src/platform/durable-file.ts). */
function killAfterWrites(remaining: number): void {
  const { renameSync } = fs;
  fs.renameSync = (from, to) => {
    renameSync(from, to);
    if (to === options.statePath && written.includes(killAt ?? '') && (remaining -= 1) === 0) killSelf();
  };
  syncBuiltinESMExports();
}

function fill(): void {
  isFull = true;
  const file = openSync(join(dirname(options.statePath ?? ''), 'filler'), 'w');
  try {
    for (;;) writeSync(file, Buffer.alloc(4096));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  } finally {
    closeSync(file);
  }
}
