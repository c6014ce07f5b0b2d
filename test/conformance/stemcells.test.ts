import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe } from 'node:test';
import { clause } from './clause.ts';
import { World } from './world.ts';

/** Both formats of a light stemcell that `info` returns: directors send the format that the stemcell has. */
const lightFormats = ['docker-light', 'warden-light'] as const;
type LightFormat = (typeof lightFormats)[number];

describe('stemcells', () => {
  let world: World;
  before(async () => {
    world = await World.open();
  });
  after(() => world.close());

  /** Returns the path of an `image` beside its stemcell.MF, as both callers pass it. */
  async function image(name: string, format: LightFormat = 'docker-light'): Promise<string> {
    const directory = join(world.directory, name);
    await mkdir(directory, { recursive: true });
    await writeFile(join(directory, 'stemcell.MF'), `name: ${name}\nstemcell_formats: [${format}]\n`);
    await writeFile(join(directory, 'image'), '');
    return join(directory, 'image');
  }

  /** Returns the cid of a stemcell that has this format in both places where a stemcell can name it. */
  const create = async (name: string, format: LightFormat): Promise<unknown> =>
    world.call('create_stemcell', await image(`${name}-${format}`, format), {
      ...properties(world.target.stemcell),
      formats: [format],
    });

  const properties = (reference: string, digest?: string): object => ({
    image_reference: reference,
    ...(digest === undefined ? {} : { digest }),
  });

  clause('12a', async () => {
    const path = await image('three');
    const given = [path, properties(world.target.stemcell), { tags: { team: 'a' } }];
    for (const apiVersion of [3, 2, null]) {
      const args = apiVersion === 3 ? given : given.slice(0, 2);
      const { result, error } = await world.request('create_stemcell', args, { apiVersion });
      assert.equal(error, null, error?.message);
      assert.equal(typeof result, 'string');
    }
  });

  clause('12b', async () => {
    const args = [await image('two'), properties(world.target.stemcell)];
    const { result, error } = await world.request('create_stemcell', args, { apiVersion: 2 });
    assert.equal(error, null, error?.message);
    assert.equal(typeof result, 'string');
  });

  clause('15a', async () => {
    const existing = await world.objects();
    for (const format of lightFormats)
      assert.equal(await create('light', format), world.target.stemcell, format);
    assert.deepEqual(await world.objects(), existing);
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
    const first = await create('again', 'docker-light');
    for (const format of lightFormats) assert.equal(await create('again', format), first, format);
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
