import assert from 'node:assert/strict';
import { mkdir, readlink, readdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { smallCheckout } from './testing/small-checkout.ts';

test('a lock whose text is a path to another link neither replaces nor removes that link', async (t) => {
  const checkout = await smallCheckout(t);
  const { directory } = checkout;
  const victim = join(directory, 'other', 'victim');
  await mkdir(join(directory, 'other'));
  await symlink('whole', victim);
  const text = '1 1/../other/victim';
  await symlink(text, join(directory, '.installing'));
  await mkdir(join(directory, `.installing.after-${text.replaceAll(' ', '-').split('/')[0]}`));

  const { exitCode, stderr } = await checkout.start('ensureBuilt').ended;

  assert.equal(exitCode, 1);
  assert.match(stderr, /\.installing was not created by an installation or a build; remove it/);
  assert.equal(await readlink(victim), 'whole');
  assert.deepEqual(await readdir(join(directory, 'other')), ['victim']);
});
