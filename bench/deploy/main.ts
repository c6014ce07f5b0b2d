import { spawn, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, mkdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { formatTable } from '../../src/cli/output/table.ts';
import { StageClock, type StageTime } from './stage-clock.ts';
import { wholeStart } from './whole-start.ts';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

interface Run {
  readonly total: number;
  /** Milliseconds from the deployer's first line to its last. */
  readonly createEnv: number;
  /** The parts of the total. */
  readonly parts: readonly StageTime[];
}

/** Clones HEAD and adds the dependencies, as after `npm ci`. */
async function preparedClone(top: string): Promise<string> {
  const clone = join(top, 'clone');
  execFileSync('git', ['clone', '--quiet', '--no-hardlinks', root, clone]);
  execFileSync('cp', ['-al', join(root, 'node_modules'), join(clone, 'node_modules')]);
  await mkdir(join(top, 'home'));
  return clone;
}

function npm(clone: string, args: readonly string[]): Promise<Run> {
  const clock = new StageClock();
  const began = performance.now();
  let building: number | undefined;
  let first: number | undefined;
  let last = began;
  const child = spawn('npm', ['--silent', ...args], {
    cwd: clone,
    env: { PATH: process.env['PATH'], HOME: join(dirname(clone), 'home') },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    last = performance.now();
    first ??= last;
    clock.feed(chunk, last);
  });
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    if (chunk.includes('Building...')) building ??= performance.now();
    process.stderr.write(chunk);
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => {
      if (code !== 0) return reject(new Error(`npm ${args.join(' ')} ended with ${code}`));
      const ended = performance.now();
      const deploying = first ?? ended;
      builtAt(clone).then((built) => {
        const moments = { began, building, built, deploying, ended };
        const parts = wholeStart(moments, clock.times);
        resolve({ total: ended - began, createEnv: last - deploying, parts });
      }, reject);
    });
  });
}

/** Returns when the last build ended, from the time of its stamp, on the clock of performance.now(). */
async function builtAt(clone: string): Promise<number> {
  const { mtimeMs } = await stat(join(clone, 'dist', '.built-from'));
  return mtimeMs - performance.timeOrigin;
}

const seconds = (milliseconds: number): string => `${(milliseconds / 1000).toFixed(2)} s`;

/**
 * Returns the milliseconds that this machine takes for a fixed amount of work: speed differs between hosts,
 * and on one host over time.
 */
function hashing(mebibytes: number): number {
  const chunk = Buffer.alloc(1 << 20);
  const hash = createHash('sha256');
  const began = performance.now();
  for (let remaining = mebibytes; remaining > 0; remaining -= 1) hash.update(chunk);
  hash.digest();
  return performance.now() - began;
}

/**
 * Runs the start twice, and then destroy. If a deployment fails, the cluster is stopped: otherwise it would
 * keep the example's address.
 */
async function startTwice(clone: string): Promise<{ first: Run; second: Run }> {
  try {
    const first = await npm(clone, ['start']);
    const second = await npm(clone, ['start']);
    await npm(clone, ['run', 'destroy', '--', '--force']);
    return { first, second };
  } catch (error) {
    await npm(clone, ['stop']);
    throw error;
  }
}

const top = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-bench-'));
try {
  const { first, second } = await startTwice(await preparedClone(top));
  process.stdout.write(
    `${formatTable(
      ['Where the time of the first npm start went', '', ''],
      first.parts.map(({ stage, milliseconds }) => [
        stage.replace(/[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{64}/g, '...'),
        seconds(milliseconds),
        `${Math.round((100 * milliseconds) / first.total)} %`,
      ]),
    )}\n`,
  );
  process.stdout.write(
    formatTable(
      ['', 'Measured', 'Target'],
      [
        ['first npm start after install', seconds(first.total), '10 s'],
        ['create-env of the example', seconds(first.createEnv), '5 s'],
        ['npm start when nothing changed', seconds(second.total), '2 s'],
        ['for comparison: SHA-256 of 1 GiB', seconds(hashing(1024)), ''],
      ],
    ),
  );
} finally {
  await rm(top, { recursive: true, force: true });
}
