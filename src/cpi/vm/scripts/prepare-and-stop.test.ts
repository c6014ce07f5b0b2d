import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { prepareScript } from './prepare-and-stop.ts';

const run = promisify(execFile);
/**
 * The script gives hub and state volume to root; a test that does not run as root uses root of a user
 * namespace.
 */
const asRoot = process.getuid?.() === 0 ? [] : ['unshare', '--user', '--map-root-user'];

/**
 * Prepares the init container with folders of the test: an image with two state directories, an empty state
 * volume, a hub.
 */
async function preparation(t: TestContext): Promise<{ root: string; prepare: () => Promise<void> }> {
  const root = await mkdtemp(join(tmpdir(), 'prepare-'));
  t.after(() => rm(root, { recursive: true }));
  for (const folder of ['state', 'var/vcap/bosh/bin', 'var/vcap/monit', 'warden-cpi-dev'])
    await mkdir(join(root, folder), { recursive: true });
  await writeFile(join(root, 'var/vcap/bosh/agent.json'), 'of the image');
  await writeFile(join(root, 'var/vcap/bosh/bin/bosh-agent'), 'program', { mode: 0o755 });
  const script = prepareScript
    .replaceAll('/state/', `${root}/state/`)
    .replaceAll('/var/vcap/', `${root}/var/vcap/`)
    .replaceAll('/warden-cpi-dev/', `${root}/warden-cpi-dev/`)
    .replaceAll('/volumes/', `${root}/volumes/`);
  return {
    root,
    prepare: async () => {
      await run('/usr/bin/env', [...asRoot, '/bin/sh', '-c', script, 'prepare', 'bosh', 'monit', 'instance']);
    },
  };
}

test('an empty state volume is filled from the image; what the image lacks is an empty folder', async (t) => {
  const { root, prepare } = await preparation(t);
  await prepare();
  assert.equal(await readFile(join(root, 'state/bosh/agent.json'), 'utf8'), 'of the image');
  assert.equal(await readFile(join(root, 'state/bosh/bin/bosh-agent'), 'utf8'), 'program');
  assert.deepEqual(await readdir(join(root, 'state/instance')), []);
  assert.deepEqual(await readdir(join(root, 'warden-cpi-dev')), ['disks']);
});

test('run again, as after a restart of the node, it leaves what the agent wrote', async (t) => {
  const { root, prepare } = await preparation(t);
  await prepare();
  await writeFile(join(root, 'state/bosh/spec.json'), 'applied');
  await writeFile(join(root, 'state/bosh/agent.json'), 'changed');
  await prepare();
  assert.equal(await readFile(join(root, 'state/bosh/spec.json'), 'utf8'), 'applied');
  assert.equal(await readFile(join(root, 'state/bosh/agent.json'), 'utf8'), 'changed');
});

test('killed before its end it begins anew: half a copy does not pass for a filled volume', async (t) => {
  const { root, prepare } = await preparation(t);
  await mkdir(join(root, 'state/bosh/bin'), { recursive: true });
  await writeFile(join(root, 'state/bosh/bin/bosh-agent'), 'prog');
  await writeFile(join(root, 'state/bosh/left'), 'over');
  await prepare();
  assert.equal(await readFile(join(root, 'state/bosh/bin/bosh-agent'), 'utf8'), 'program');
  assert.deepEqual((await readdir(join(root, 'state/bosh'))).toSorted(), ['agent.json', 'bin']);
});

test('what the entry recorded of the network of a former sandbox is removed', async (t) => {
  const { root, prepare } = await preparation(t);
  await mkdir(join(root, 'state/bosh/pod-network'), { recursive: true });
  await writeFile(join(root, 'state/.bosh.filled'), '');
  await writeFile(join(root, 'state/bosh/pod-network/links'), 'eth0');
  await prepare();
  assert.deepEqual(await readdir(join(root, 'state/bosh')), []);
});
