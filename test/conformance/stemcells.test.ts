import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe } from 'node:test';
import { clause } from './clause.ts';
import { World } from './world.ts';

describe('stemcells', () => {
  let world: World;
  before(async () => {
    world = await World.open();
  });
  after(() => world.close());

  /** The path of an `image` beside its stemcell.MF, as both callers hand it over. */
  async function image(name: string): Promise<string> {
    const directory = join(world.directory, name);
    await mkdir(directory, { recursive: true });
    await writeFile(join(directory, 'stemcell.MF'), `name: ${name}\nstemcell_formats: [docker-light]\n`);
    await writeFile(join(directory, 'image'), '');
    return join(directory, 'image');
  }

  const properties = (reference: string, digest?: string): object => ({
    image_reference: reference,
    ...(digest === undefined ? {} : { digest }),
  });

  clause('12a', async () => {
    const path = await image('three');
    const given = [path, properties(world.target.stemcell), { tags: { team: 'a' } }];
    for (const apiVersion of [3, undefined]) {
      const options = apiVersion === undefined ? {} : { apiVersion };
      const args = apiVersion === 3 ? given : given.slice(0, 2);
      const { result, error } = await world.request('create_stemcell', args, options);
      assert.equal(error, null, error?.message);
      assert.equal(typeof result, 'string');
    }
  });

  clause('12b', async () => {
    const cid = await world.call('create_stemcell', await image('two'), properties(world.target.stemcell));
    assert.equal(typeof cid, 'string');
  });

  clause('15a', async () => {
    const before = await world.objects();
    const cid = await world.call('create_stemcell', await image('light'), properties(world.target.stemcell));
    assert.equal(cid, world.target.stemcell);
    assert.deepEqual(await world.objects(), before);
  });

  clause('15b', async () => {
    const digest = `sha256:${createHash('sha256').update('one').digest('hex')}`;
    const other = `sha256:${createHash('sha256').update('other').digest('hex')}`;
    const reference = `registry.example/stemcell@${other}`;
    await world.refuses('CloudError', 'create_stemcell', [
      await image('pinned'),
      properties(reference, digest),
    ]);
  });

  clause('15c', async () => {
    const args = [await image('again'), properties(world.target.stemcell)];
    const first = await world.call('create_stemcell', ...args);
    assert.equal(await world.call('create_stemcell', ...args), first);
    const [agent, , ...rest] = world.vmArguments();
    const [cid] = await world.call<[string]>('create_vm', agent, first, ...rest);
    await world.call('delete_vm', cid);
  });

  clause('16a', async () => {
    const { error } = await world.request('create_stemcell', [await image('bare'), {}]);
    assert.match(error?.message ?? '', /image_reference/u);
  });

  clause('17a', async () => {
    for (const cid of ['registry.example/none:1', 'garbage', `registry.example/x@sha256:${'0'.repeat(64)}`]) {
      await world.call('delete_stemcell', cid);
    }
  });
});
