import assert from 'node:assert/strict';
import fc from 'fast-check';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, realpath, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { isProductError } from '../errors/product-error.ts';
import { mount, unmount } from '../../embedded-cluster/node/mounts.ts';
import { describeInNamespace } from '../../embedded-cluster/node/testing/in-namespace.ts';
import { safeRemove } from './safe-remove.ts';

describeInNamespace(import.meta.filename, () => {
  const temporary = async (): Promise<string> =>
    realpath(await mkdtemp(join(tmpdir(), 'bosh-kubernetes-remove-')));

  test('removes any tree, and nothing that its symlinks name', async () => {
    const name = fc.stringMatching(/^[a-z \n"$é]{1,8}$/);
    const { tree } = fc.letrec<{ tree: Record<string, unknown> }>((tie) => ({
      tree: fc.dictionary(
        name,
        fc.oneof({ maxDepth: 4 }, fc.constant('file'), fc.constant('link'), tie('tree')),
        {
          maxKeys: 4,
        },
      ),
    }));
    await fc.assert(
      fc.asyncProperty(tree, async (shape) => {
        const directory = await temporary();
        const outside = join(directory, 'outside');
        await mkdir(outside);
        await writeFile(join(outside, 'canary'), 'alive');
        const victim = join(directory, 'victim');
        await grow(victim, shape, outside);
        await safeRemove(victim);
        assert.deepEqual(await readdir(directory), ['outside']);
        assert.equal(await readFile(join(outside, 'canary'), 'utf8'), 'alive');
        await safeRemove(directory);
      }),
      { numRuns: 30 },
    );
  });

  test('a missing directory is success, a file is refused', async () => {
    const directory = await temporary();
    await safeRemove(join(directory, 'absent'));
    await writeFile(join(directory, 'file'), '');
    await assert.rejects(safeRemove(join(directory, 'file')), { code: 'ENOTDIR' });
    await safeRemove(directory);
  });

  for (const [what, below] of [
    ['at it', ''],
    ['below it', 'a/b'],
  ] as const) {
    test(`removes nothing while something is mounted ${what}`, async () => {
      const directory = await temporary();
      const disk = join(directory, 'disk');
      const victim = join(directory, 'victim');
      const target = join(victim, below);
      await mkdir(target, { recursive: true });
      await mkdir(disk);
      await writeFile(join(victim, 'own'), '');
      await writeFile(join(disk, 'canary'), 'alive');
      await mount('--bind', disk, target);
      await assert.rejects(safeRemove(victim), (error) => isProductError(error, 'MOUNT_IN_THE_WAY'));
      assert.equal(await readFile(join(disk, 'canary'), 'utf8'), 'alive');
      await unmount(target);
      assert.ok(existsSync(join(victim, 'own')));
      await safeRemove(victim);
      assert.equal(await readFile(join(disk, 'canary'), 'utf8'), 'alive');
      await safeRemove(directory);
    });
  }

  test('a mount made while it removes is not crossed', async () => {
    const directory = await temporary();
    const disk = join(directory, 'disk');
    const victim = join(directory, 'victim');
    await mkdir(join(victim, 'z'), { recursive: true });
    await Promise.all(Array.from({ length: 3000 }, (_, index) => writeFile(join(victim, `a${index}`), '')));
    await mkdir(disk);
    await writeFile(join(disk, 'canary'), 'alive');
    const removal = safeRemove(victim);
    removal.catch(() => undefined);
    await mount('--bind', disk, join(victim, 'z'));
    await assert.rejects(removal);
    assert.equal(await readFile(join(disk, 'canary'), 'utf8'), 'alive');
    await unmount(join(victim, 'z'));
    await safeRemove(directory);
  });
});

async function grow(directory: string, shape: Record<string, unknown>, outside: string): Promise<void> {
  await mkdir(directory);
  for (const [name, value] of Object.entries(shape)) {
    const path = join(directory, name);
    if (value === 'file') {
      await writeFile(path, name);
    } else if (value === 'link') {
      await symlink(outside, path);
    } else {
      await grow(path, value as Record<string, unknown>, outside);
    }
  }
}
