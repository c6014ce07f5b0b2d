import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { chown, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { smallCheckout, type SmallCheckout } from './testing/small-checkout.ts';

const stampOf = ({ directory }: SmallCheckout): string => join(directory, 'node_modules', '.installed-from');

/**
 * Creates a checkout that was installed and built from previous sources, with a cluster; npm fails before it
 * removes anything.
 */
async function previousCheckout(t: TestContext): Promise<SmallCheckout> {
  const checkout = await smallCheckout(t);
  const { directory, pinnedNode } = checkout;
  await checkout.writeScript(pinnedNode, '#!/bin/sh\necho "$@"\n');
  await checkout.writeScript(join(directory, 'bin', 'npm'), '#!/bin/sh\necho EUSAGE >&2\nexit 1\n');
  await checkout.writeScript(join(directory, 'dist', 'cli', 'main.mjs'), '');
  await mkdir(join(directory, '.bosh-kubernetes', 'cluster'), { recursive: true });
  await writeFile(stampOf(checkout), 'of a former package-lock.json');
  return checkout;
}

test('a running deployment can still be stopped if npm failed before it removed anything', async (t) => {
  const checkout = await previousCheckout(t);
  const refused = await checkout.command(['up', 'x.yml']).ended;
  assert.equal(refused.exitCode, 1);
  assert.match(refused.stderr, /EUSAGE.*npm ci failed/s);
  assert.equal(existsSync(stampOf(checkout)), false);

  for (const command of ['stop', 'status', 'destroy']) {
    const { exitCode, stdout, stderr } = await checkout.command([command]).ended;

    assert.equal(exitCode, 0, stderr);
    assert.match(stdout, new RegExp(`main\\.mjs ${command}\n$`));
  }
});

test('without a cluster, stop and status install nothing, unless status may be for the cluster of $KUBECONFIG', async (t) => {
  const checkout = await smallCheckout(t);
  await checkout.writeScript(join(checkout.directory, 'bin', 'npm'), '#!/bin/sh\necho EUSAGE >&2\nexit 1\n');
  const run = async (command: string, environment: Readonly<Record<string, string>> = {}) => {
    const { exitCode, stdout } = await checkout.command([command], environment).ended;
    return [exitCode, stdout];
  };
  const other = { KUBECONFIG: '/other/cluster' };

  for (const environment of [{}, other])
    assert.deepEqual(await run('stop', environment), [0, 'Not running.\n']);
  assert.deepEqual(await run('status'), [3, "There is no embedded cluster here; 'npm start' makes one.\n"]);
  assert.deepEqual(await run('status', other), [1, '']);
});

test('an incomplete Node of a killed installation is not used', async (t) => {
  const checkout = await previousCheckout(t);
  await checkout.command(['up', 'x.yml']).ended;
  await checkout.writeScript(checkout.pinnedNode, '#!/there-is-no-loader\n');

  const { exitCode, stderr } = await checkout.command(['stop']).ended;

  assert.equal(exitCode, 1);
  assert.match(stderr, /npm ci failed/);
});

test(
  "root in another user's checkout writes no compile cache, which the owner's next npm ci could not remove",
  { skip: process.getuid?.() !== 0 && 'needs root' },
  async (t) => {
    const checkout = await previousCheckout(t);
    await checkout.writeScript(checkout.pinnedNode, '#!/bin/sh\necho "cache: $NODE_COMPILE_CACHE"\n');
    const cacheOf = async (): Promise<string> => (await checkout.command(['stop']).ended).stdout;
    assert.equal(await cacheOf(), `cache: ${checkout.directory}/node_modules/.cache/compiled\n`);

    await chown(checkout.directory, 65534, 65534);

    assert.equal(await cacheOf(), 'cache: \n');
  },
);
