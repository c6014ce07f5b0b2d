import assert from 'node:assert/strict';
import { chmod, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import product from '../../../package.json' with { type: 'json' };
import { builtCluster } from '../../../embedded-cluster/index.ts';
import { scratchDirectory } from '../../bosh/testing/scratch.ts';
import type { Installation } from '../installation.ts';
import { findStartedVersion, findPrograms, placePrograms, removePrograms } from './place-programs.ts';

async function writePackage(root: string, agent: string): Promise<void> {
  const cluster = dirname(builtCluster(root));
  await mkdir(cluster, { recursive: true });
  for (const name of ['main.mjs', 'prepare.mjs', 'stage.sh']) await writeFile(join(cluster, name), name);
  await mkdir(join(root, 'dist', 'runtime'));
  await writeFile(join(root, 'dist', 'runtime', 'agent.cjs'), agent, { mode: 0o600 });
  await writeFile(join(root, 'node'), 'node');
  await chmod(join(root, 'node'), 0o755);
}

async function smallPackage(t: TestContext): Promise<Installation> {
  const top = await scratchDirectory(t);
  const root = join(top, 'package');
  await writePackage(root, 'agent');
  const home = join(top, 'home');
  return {
    ...{ root, isPackage: true, nodeBinary: join(root, 'node') },
    runtimeDirectory: join(root, 'dist', 'runtime'),
    clusterDirectory: join(home, 'cluster'),
    programsDirectory: join(home, 'programs'),
    workspace: join(home, 'workspace'),
    lockPath: join(home, 'lock'),
  };
}

test('the programs of a cluster stay after npm has removed the package, and the next start replaces them', async (t) => {
  const installation = await smallPackage(t);
  assert.equal(findPrograms(installation), undefined);
  const placed = await placePrograms(installation);
  const { root, nodeBinary, programsDirectory } = installation;
  // Without a copy: Node has more than 100 MB.
  assert.equal((await stat(placed.nodeBinary)).ino, (await stat(nodeBinary)).ino);
  assert.deepEqual((await readdir(dirname(placed.main))).toSorted(), ['main.mjs', 'prepare.mjs', 'stage.sh']);

  await rm(root, { recursive: true });
  assert.deepEqual(findPrograms(installation), placed);
  assert.equal(await readFile(placed.nodeBinary, 'utf8'), 'node');
  await writePackage(root, 'another agent');

  await mkdir(`${programsDirectory}.new/cluster`, { recursive: true });
  await placePrograms(installation);
  assert.equal(await readFile(join(placed.runtimeDirectory, 'agent.cjs'), 'utf8'), 'another agent');

  await mkdir(`${programsDirectory}.new`);
  await removePrograms(installation);
  assert.deepEqual(await readdir(dirname(programsDirectory)), []);
});

test('users of a VM can run the programs of a package that only its owner can read', async (t) => {
  const installation = await smallPackage(t);
  await chmod(installation.nodeBinary, 0o700);
  const { nodeBinary, runtimeDirectory } = await placePrograms(installation);
  const modes = await Promise.all(
    [nodeBinary, join(runtimeDirectory, 'agent.cjs')].map((path) => stat(path)),
  );
  assert.deepEqual(
    modes.map(({ mode }) => mode & 0o777),
    [0o755, 0o644],
  );
  assert.equal((await stat(installation.nodeBinary)).mode & 0o777, 0o700);
});

test('a cluster that a newer version started is refused', async (t) => {
  const installation = await smallPackage(t);
  assert.equal(await findStartedVersion(installation), undefined);
  await placePrograms(installation);
  assert.equal(await findStartedVersion(installation), product.version);
  const record = join(installation.programsDirectory, 'package.json');
  const [major = 0, minor = 0, patch = 0] = product.version.split(/[.-]/u).map(Number);
  for (const version of [product.version, '0.0.1', `${major}.${minor}.${patch}-rc.1`]) {
    await writeFile(record, JSON.stringify({ version }));
    assert.equal(await findStartedVersion(installation), version);
  }
  for (const version of [`${major + 1}.0.0`, `${major}.${minor + 1}.0`, `${major}.${minor}.${patch + 10}`]) {
    await writeFile(record, JSON.stringify({ version }));
    await assert.rejects(findStartedVersion(installation), {
      code: 'CLUSTER_START',
      message: new RegExp(
        `started by bosh-kubernetes ${version}, .* nothing was changed\\. Install bosh-kubernetes ${version} or newer`,
      ),
    });
  }
  // A newer version was killed between the removal of the previous copies and the renaming of its own.
  const { programsDirectory } = installation;
  await rename(programsDirectory, `${programsDirectory}.new`);
  const unused =
    /Install .* or newer; if that version has never run here, remove '.*programs\.new\/package\.json'/;
  await assert.rejects(findStartedVersion(installation), { message: unused });
  await rename(`${programsDirectory}.new`, programsDirectory);
  await writeFile(record, '{}');
  await assert.rejects(findStartedVersion(installation), { message: /version .*; remove it if/ });
});
