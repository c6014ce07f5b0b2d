import assert from 'node:assert/strict';
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { scratchDirectory } from '../bosh/testing/scratch.ts';
import { assertOutsideOfPackage } from './assert-outside-of-package.ts';
import { cluster } from './commands/cluster.ts';
import { createEnv } from './commands/env.ts';
import { up } from './commands/up.ts';
import { locateInstallation } from './installation.ts';
import { recordOutput } from './testing/record-output.ts';

test('no deployment and no cluster is created in the folder of the npm package', async (t) => {
  const project = await scratchDirectory(t);
  const root = join(project, 'node_modules', 'bosh-kubernetes');
  const example = join(root, 'examples', 'published');
  await mkdir(example, { recursive: true });
  const manifest = join(example, 'manifest.yml');
  await writeFile(manifest, 'name: x\n');
  await symlink(example, join(project, 'link'));
  const { context } = recordOutput();
  const start = (home: string) => ({
    ...context,
    installation: {
      ...locateInstallation({ BOSH_KUBERNETES_HOME: join(home, '.bosh-kubernetes') }),
      ...{ root, isPackage: true },
    },
  });
  const refused = { code: 'INVALID_ARGUMENT', message: /would be in the npm package/u };
  const state = ['--state', join(project, 'state.json')];
  const creds = ['--vars-store', join(project, 'creds.yml')];
  for (const [command, args] of [
    [up, [manifest]],
    [up, [manifest, ...state]],
    [createEnv, [manifest]],
    [createEnv, [join(project, 'link', 'manifest.yml')]],
    [createEnv, [manifest, ...state, '--vars-store', join(example, 'creds.yml')]],
  ] as const)
    await assert.rejects(command.run(args, start(project)), refused, args.join(' '));
  for (const [command, args] of [
    [up, [manifest, ...state, ...creds]],
    [cluster, ['start']],
  ] as const)
    await assert.rejects(command.run(args, start(example)), refused, args.join(' '));
  assert.deepEqual(await readdir(example), ['manifest.yml']);
  await assertOutsideOfPackage(join(project, 'node_modules', 'bosh-kubernetes-2', 'x'), {
    isPackage: true,
    root,
  });
  await assertOutsideOfPackage(manifest, { isPackage: false, root });
});
