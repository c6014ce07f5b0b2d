import assert from 'node:assert/strict';
import { constants } from 'node:fs';
import { access, chmod, mkdir, mkdtemp, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { findRuby } from '../../src/bosh/template/create-template-renderer.ts';
import { Checkout, strangersPath } from './checkout.ts';

const source = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const uid = 65534;
const ids = { name: 'nobody', first: 300_000, count: 65_536 };
const missing = await whatIsMissing();

/** Gives the user subordinate ids only in a mount namespace. The machine's own files stay unchanged. */
const withIds = `mount --bind "$1" /etc/subuid && mount --bind "$1" /etc/subgid && shift &&
exec setpriv --reuid ${uid} --regid ${uid} --clear-groups "$@"`;

describe('a user with subordinate ids, without ruby on PATH', { skip: missing ?? false }, () => {
  let scratch: string;
  let checkout: Checkout;

  before(async () => {
    scratch = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-ids-'));
    await chmod(scratch, 0o755);
    const table = join(scratch, 'ids');
    await writeFile(table, `${ids.name}:${ids.first}:${ids.count}\n`);
    const path = join(scratch, 'bin');
    await linkPrograms(path);
    const wrapper = ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', withIds, 'sh', table];
    checkout = await Checkout.clone(source, { uid, path, wrapper, isInstalled: true });
    // The other suite of this directory may run at the same time.
    await checkout.edit('examples/hello/manifest.yml', (text) => text.replaceAll('127.64.0.', '127.64.79.'));
  });

  after(async () => {
    await checkout.npm(['run', 'destroy', '--', '--force', '--all']);
    await checkout.remove();
    await rm(scratch, { recursive: true });
  });

  test('npm start deploys, ruby.wasm renders the templates, and the cluster has the ids', async () => {
    assert.equal(await findRuby(join(scratch, 'bin')), undefined);

    const started = await checkout.npm(['start']);

    assert.equal(started.exitCode, 0, started.stdout + started.stderr);
    const url = started.stdout.trimEnd().split('\n').at(-1) ?? '';
    assert.match(await (await fetch(url)).text(), /Hello from BOSH on Kubernetes/);
    const maps = await Promise.all((await checkout.processes()).map(({ pid }) => uidMap(pid)));
    assert.ok(
      maps.some((map) => map.includes(`0 ${uid} 1`) && map.includes(`1 ${ids.first} `)),
      maps.join('\n'),
    );
  });

  test('npm stop and npm run destroy leave no files, not even of subordinate ids', async () => {
    const stopped = await checkout.npm(['stop']);
    assert.equal(stopped.exitCode, 0, stopped.stdout + stopped.stderr);
    assert.deepEqual(await checkout.processes(), []);

    const destroyed = await checkout.npm(['run', 'destroy', '--', '--force']);

    assert.equal(destroyed.exitCode, 0, destroyed.stdout + destroyed.stderr);
    await assert.rejects(readdir(join(checkout.directory, '.bosh-kubernetes', 'cluster')), {
      code: 'ENOENT',
    });
  });
});

/**
 * Returns `inside outside count` for each range, or an empty text for a process that has exited in the
 * meantime.
 */
async function uidMap(pid: number): Promise<string> {
  const text = await readFile(`/proc/${pid}/uid_map`, 'utf8').catch(() => '');
  return text
    .split('\n')
    .map((line) => line.trim().split(/\s+/).join(' '))
    .join('\n');
}

/**
 * Links every program in PATH except ruby into one directory. Programs in this user's home directory are
 * skipped, because the other user cannot reach them.
 */
async function linkPrograms(binDirectory: string): Promise<void> {
  await mkdir(binDirectory);
  const directories = strangersPath().split(':');
  for (const directory of directories.filter((path) => !path.startsWith(`${homedir()}/`))) {
    for (const name of await readdir(directory).catch(() => [])) {
      if (/^(ruby|irb|erb|gem)/.test(name)) continue;
      // The first program with a name takes precedence, as in PATH.
      await symlink(join(directory, name), join(binDirectory, name)).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error;
      });
    }
  }
}

async function whatIsMissing(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'needs root, to give another user subordinate ids';
  for (const program of ['newuidmap', 'newgidmap']) {
    if (!(await isOnPath(program))) return `needs ${program} (Debian: uidmap)`;
  }
  for (const path of ['/etc/subuid', '/etc/subgid']) {
    if (!(await can(path, constants.R_OK))) return `needs ${path}, in the place of which its own is mounted`;
  }
  return undefined;
}

async function isOnPath(program: string): Promise<boolean> {
  const found = await Promise.all(
    strangersPath()
      .split(':')
      .map((directory) => can(join(directory, program), constants.X_OK)),
  );
  return found.includes(true);
}

function can(path: string, mode: number): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  );
}
