import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { scratchDirectory } from '../../src/bosh/testing/scratch.ts';
import { mainModulePath } from '../../src/cli/installation.ts';
import { until } from '../support/until.ts';

const checkout = join(import.meta.dirname, '..', '..');

function debianIsMissing(): string | false {
  if (process.geteuid?.() !== 0) return 'needs root';
  return spawnSync('mmdebstrap', ['--version']).error !== undefined && 'needs mmdebstrap';
}

interface Running {
  readonly output: Promise<string>;
  readonly ended: Promise<number | null>;
  interrupt(signal: NodeJS.Signals): void;
}

/** Runs `bosh-kubernetes stemcell` with the test's directories for all its data. */
function stemcell(t: TestContext, directory: string, args: readonly string[]): Running {
  const child = spawn(process.execPath, [mainModulePath(checkout), 'stemcell', ...args], {
    env: { PATH: process.env['PATH'], HOME: directory, TMPDIR: join(directory, 'tmp') },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  t.after(() => child.kill('SIGKILL'));
  return {
    output: Promise.all([text(child.stdout), text(child.stderr)]).then((parts) => parts.join('')),
    ended,
    interrupt: (signal) => void child.kill(signal),
  };
}

const namesIn = async (path: string): Promise<string[]> => (existsSync(path) ? readdir(path) : []);

/** Returns the processes whose environment names the directory. */
async function processesOf(directory: string): Promise<string[]> {
  const ids = (await readdir('/proc')).filter((name) => /^\d+$/u.test(name));
  const found = await Promise.all(
    ids.map(async (id) => {
      const environment = await readFile(`/proc/${id}/environ`, 'utf8').catch(goneIsEmpty);
      return environment.includes(directory) ? [id] : [];
    }),
  );
  return found.flat();
}

/**
 * Returns an empty text for a process that has exited in the meantime or may not be read: root of a container
 * may not read every process.
 */
function goneIsEmpty(error: NodeJS.ErrnoException): string {
  if (['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes(error.code ?? '')) return '';
  throw error;
}

test(
  'SIGTERM in the middle of a real mmdebstrap: no root, no process, no mount, no stemcell is left',
  { skip: debianIsMissing(), timeout: 600_000 },
  async (t) => {
    const directory = await scratchDirectory(t);
    const [temporary, output] = [join(directory, 'tmp'), join(directory, 'output')];
    await mkdir(temporary);
    const args = ['build', '--from-debian', '--profile', 'baseline', '--output', output];
    const running = stemcell(t, directory, args);
    // Wait until apt-get has unpacked packages and dpkg runs inside the root.
    await until(
      'mmdebstrap to be at work',
      async () => {
        const roots = (await namesIn(temporary)).filter((name) => name.startsWith('mmdebstrap.'));
        return roots.some((name) => existsSync(join(temporary, name, 'var/lib/dpkg/info/base-files.list')));
      },
      500_000,
    );
    assert.ok((await processesOf(directory)).length > 1, 'mmdebstrap and what it runs');
    running.interrupt('SIGTERM');
    assert.notEqual(await running.ended, 0);
    assert.match(await running.output, /interrupted by SIGTERM/u);
    assert.deepEqual(await processesOf(directory), []);
    assert.deepEqual(await readdir(temporary), []);
    assert.equal(existsSync(output), false);
    assert.doesNotMatch(await readFile('/proc/self/mountinfo', 'utf8'), new RegExp(directory, 'u'));
    const roots = join(directory, '.cache', 'bosh-kubernetes');
    const kept = existsSync(roots) ? await readdir(roots, { recursive: true }) : [];
    assert.deepEqual(
      kept.filter((name) => name.includes('sha256')),
      [],
      'no half a root is kept',
    );
  },
);
