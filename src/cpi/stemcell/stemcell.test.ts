import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { gunzipSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { type TestContext, describe, test } from 'node:test';
import { embeddedAgentProperties } from '../../bosh/stemcell/stemcell.ts';
import { scratchDirectory } from '../../bosh/testing/scratch.ts';
import { isProductError } from '../../errors/product-error.ts';
import { digestOf, HostileRegistry, refuse } from '../../oci/registry/testing/hostile-registry.ts';
import type { CallContext } from '../call.ts';
import { testCloud } from '../testing/test-cloud.ts';
import { createStemcell } from './create-stemcell.ts';
import { deleteStemcell } from './delete-stemcell.ts';
import { unpackedStemcell } from './testing/unpacked-stemcell.ts';

const properties = { name: 'bosh-warden', version: '1.165/β', architecture: 'x86_64' };

interface World {
  readonly registry: HostileRegistry;
  readonly cloud: CallContext;
  readonly notes: string[];
  readonly directory: string;
}

async function world(t: TestContext, settings: object = {}): Promise<World> {
  const registry = await HostileRegistry.start(t);
  const section = {
    ...{ url: registry.origin, repository: 'bosh/stemcells', pull_host: 'registry.internal:5000' },
    ...settings,
  };
  const { cloud } = await testCloud(t, { registry: section });
  const notes: string[] = [];
  const clock = { now: () => 0, sleep: async () => {} };
  return {
    registry,
    cloud: { ...cloud, clock, log: (line) => void notes.push(line) },
    notes,
    directory: await scratchDirectory(t),
  };
}

const digestIn = (cid: string): string => cid.slice(cid.indexOf('@') + 1).replace(/#.*$/u, '');

describe('a heavy stemcell', () => {
  test('is pushed as one unchanged layer, under a manifest of its own', async (t) => {
    const { registry, cloud, directory, notes } = await world(t);
    const { imagePath, bytes } = await unpackedStemcell(directory);
    const tags = { team: 'blue', 'org.opencontainers.image.title': 'mine', count: 2 };
    const cid = await createStemcell(cloud, { imagePath, cloudProperties: properties, env: { tags } });
    assert.match(cid, /^registry\.internal:5000\/bosh\/stemcells@sha256:[0-9a-f]{64}#amd64$/u);
    const manifest = JSON.parse(registry.manifests.get(digestIn(cid))?.toString() ?? '') as {
      readonly config: { readonly digest: string };
      readonly layers: readonly { readonly digest: string; readonly size: number }[];
      readonly annotations: Readonly<Record<string, string>>;
    };
    const { 'bosh.cloudfoundry.org/stemcell-id': id, ...annotations } = manifest.annotations;
    assert.match(id ?? '', /^[0-9a-f-]{36}$/u);
    assert.deepEqual(annotations, {
      'bosh.cloudfoundry.org/tags.team': 'blue',
      'bosh.cloudfoundry.org/tags.org.opencontainers.image.title': 'mine',
      'bosh.cloudfoundry.org/tags.count': '2',
      'org.opencontainers.image.title': 'bosh-warden',
      'org.opencontainers.image.version': '1.165/β',
      'bosh.cloudfoundry.org/director': 'director-1',
    });
    assert.deepEqual(
      manifest.layers.map(({ digest, size }) => ({ digest, size })),
      [{ digest: digestOf(bytes), size: bytes.length }],
    );
    assert.deepEqual(registry.blobs.get(digestOf(bytes)), bytes);
    const config = JSON.parse(registry.blobs.get(manifest.config.digest)?.toString() ?? '') as object;
    assert.deepEqual(
      { ...config, config: {} },
      {
        ...{ architecture: 'amd64', os: 'linux', config: {} },
        rootfs: { type: 'layers', diff_ids: [digestOf(gunzipSync(bytes))] },
      },
    );
    const names = [...registry.manifests.keys()].filter((key) => !key.startsWith('sha256:'));
    assert.match(names.join(' '), /^bosh-warden-1\.165--[0-9a-f-]{36}$/u);
    assert.match(notes.join('\n'), /uploaded\n.*has the tag bosh-warden/u);

    const uploads = registry.log.filter((line) => line.startsWith('POST')).length;
    const again = await createStemcell(cloud, { imagePath, cloudProperties: properties, env: {} });
    assert.notEqual(again, cid);
    assert.equal(registry.log.filter((line) => line.startsWith('POST')).length, uploads + 1, 'its config');
    assert.equal(await deleteStemcell(cloud, { stemcellCid: cid }), null);
    assert.equal(registry.manifests.has(digestIn(cid)), false);
    assert.ok(registry.manifests.has(digestIn(again)), 'the other one keeps its image');
    assert.equal(await deleteStemcell(cloud, { stemcellCid: cid }), null);
    assert.match(notes.at(-1) ?? '', /no longer in the registry/u);
  });

  test('in zstd is one layer of that type, and in xz the error says how to repack it', async (t) => {
    const { registry, cloud, directory } = await world(t);
    const { imagePath, bytes } = await unpackedStemcell(directory);
    await writeFile(join(dirname(imagePath), 'stemcell.MF'), 'name: x\nversion: 1\n');
    const packed = zstdCompressSync(gunzipSync(bytes));
    await writeFile(imagePath, packed);
    const cid = await createStemcell(cloud, { imagePath, cloudProperties: properties, env: {} });
    const { layers } = JSON.parse(registry.manifests.get(digestIn(cid))?.toString() ?? '') as {
      layers: object[];
    };
    const mediaType = 'application/vnd.oci.image.layer.v1.tar+zstd';
    assert.deepEqual(layers, [{ mediaType, digest: digestOf(packed), size: packed.length }]);
    assert.deepEqual(registry.blobs.get(digestOf(packed)), packed);
    await writeFile(imagePath, Buffer.from('fd377a585a000004', 'hex'));
    await assert.rejects(createStemcell(cloud, { imagePath, cloudProperties: properties, env: {} }), {
      code: 'ARCHIVE_INVALID',
      message: /image \S+ is compressed with xz, .*: xz -dc \S+ \| gzip > /u,
    });
  });

  test('is rejected if its tags are invalid, and nothing reaches the registry', async (t) => {
    const { registry, cloud, directory } = await world(t);
    const { imagePath } = await unpackedStemcell(directory);
    await assert.rejects(
      createStemcell(cloud, { imagePath, cloudProperties: properties, env: { tags: ['blue'] } }),
      {
        code: 'INVALID_ARGUMENT',
        message: /create_stemcell\.env\.tags must be an object/u,
      },
    );
    assert.deepEqual(registry.log, []);
  });

  test('does not reach the registry if it is damaged, tampered with, or not a root file system', async (t) => {
    const { registry, cloud, directory } = await world(t);
    const { imagePath, bytes } = await unpackedStemcell(directory);
    const refuses = async (content: Buffer, code: string, message: RegExp): Promise<void> => {
      await writeFile(imagePath, content);
      await assert.rejects(createStemcell(cloud, { imagePath, cloudProperties: properties, env: {} }), {
        code,
        message,
      });
    };
    await refuses(bytes.subarray(0, 100), 'DIGEST_MISMATCH', /image.*expected/u);
    await writeFile(join(dirname(imagePath), 'stemcell.MF'), 'name: x\nversion: 1\n');
    await refuses(bytes.subarray(0, 100), 'ARCHIVE_INVALID', /damaged or truncated/u);
    await refuses(gzipSync(gunzipSync(bytes).subarray(0, 700)), 'ARCHIVE_INVALID', /truncated/u);
    await refuses(Buffer.from('no archive'), 'ARCHIVE_INVALID', /image/u);
    await refuses(gzipSync(tarOf('../../etc/passwd')), 'ARCHIVE_INVALID', /outside of the root/u);
    await refuses(gzipSync(tarOf('dev/sda', '4')), 'ARCHIVE_INVALID', /device node/u);
    await refuses(Buffer.alloc(0), 'INVALID_ARGUMENT', /no image_reference.*empty/u);
    await assert.rejects(
      createStemcell(cloud, { imagePath: join(directory, 'none'), cloudProperties: {}, env: {} }),
      { code: 'FILE_NOT_FOUND' },
    );
    await writeFile(join(dirname(imagePath), 'stemcell.MF'), 'a: [');
    await assert.rejects(createStemcell(cloud, { imagePath, cloudProperties: {}, env: {} }), {
      code: /INVALID/u,
    });
    assert.deepEqual(registry.log, []);
  });

  test('is not published if it changes while it is sent', async (t) => {
    const { registry, cloud, directory } = await world(t);
    const { imagePath, bytes } = await unpackedStemcell(directory);
    registry.trouble = async (request) => {
      if (request.method === 'POST') await writeFile(imagePath, Buffer.from(bytes).fill(0, 20, 30));
      return false;
    };
    await assert.rejects(createStemcell(cloud, { imagePath, cloudProperties: properties, env: {} }), {
      code: 'DIGEST_MISMATCH',
    });
    assert.deepEqual([registry.blobs.size, registry.manifests.size, registry.uploads.size], [0, 0, 0]);
  });

  test('needs a registry, and the error says which property', async (t) => {
    const { cloud } = await testCloud(t);
    await assert.rejects(
      createStemcell(cloud, { imagePath: '/image', cloudProperties: { version: '1' }, env: {} }),
      {
        code: 'NOT_SUPPORTED',
        message: /image_reference.*registry\.url/u,
      },
    );
  });

  test('stays if the registry does not delete: an error, or a line in the log', async (t) => {
    for (const [setting, notes] of [
      ['required', undefined],
      ['best-effort', /stays in the registry .*, which does not allow deletion/u],
    ] as const) {
      const at = await world(t, { delete: setting });
      const { imagePath } = await unpackedStemcell(at.directory);
      const cid = await createStemcell(at.cloud, { imagePath, cloudProperties: properties, env: {} });
      at.registry.deletes = false;
      if (notes === undefined)
        await assert.rejects(deleteStemcell(at.cloud, { stemcellCid: cid }), {
          code: 'REGISTRY_DELETES_NOTHING',
          message: /storage\.delete\.enabled.*registry\.delete/u,
        });
      else {
        await deleteStemcell(at.cloud, { stemcellCid: cid });
        assert.match(at.notes.at(-1) ?? '', notes);
      }
      assert.ok(at.registry.manifests.has(digestIn(cid)));
    }
  });

  test('is not deleted if the registry does not respond', async (t) => {
    const at = await world(t, { delete: 'best-effort' });
    const cid = `registry.internal:5000/bosh/stemcells@sha256:${'1'.repeat(64)}`;
    at.registry.trouble = (_, response) => {
      refuse(response, 500, 'UNKNOWN');
      return true;
    };
    await assert.rejects(deleteStemcell(at.cloud, { stemcellCid: cid }), { code: 'REGISTRY_BUSY' });
  });
});

describe('a stemcell with our agent', () => {
  const own = { ...embeddedAgentProperties, image_reference: 'registry.example/bosh/bookworm:1' };
  const { agent_bus: _, ...older } = own;
  const imagePath = '/image';

  test('is rejected only if agent.mbus is a NATS URL and the agent does not speak NATS', async (t) => {
    for (const mbus of ['nats://nats:hunter2@10.0.0.6:4222', 'NATS://10.0.0.6:4222']) {
      const { cloud } = await testCloud(t, { agent: { mbus } });
      for (const cloudProperties of [
        older,
        { ...older, agent_bus: 'https' },
        { ...older, image_reference: undefined },
      ])
        await assert.rejects(createStemcell(cloud, { imagePath, cloudProperties, env: {} }), (error) => {
          assert.ok(isProductError(error, 'AGENT_NOT_SUPPORTED'));
          assert.match(
            error.message,
            /without 'agent_bus: nats'.* HTTPS.*agent\.mbus.*NATS.* build .* 'bosh-kubernetes stemcell build'/u,
          );
          assert.doesNotMatch(error.message, /hunter2/u);
          return true;
        });
      const { agent, ...upstream } = older;
      assert.equal(agent, 'bosh-kubernetes');
      for (const cloudProperties of [own, upstream])
        assert.equal(
          await createStemcell(cloud, { imagePath, cloudProperties, env: {} }),
          own.image_reference,
        );
    }
  });

  test('is accepted if the agent is reached by HTTPS, as by create-env', async (t) => {
    for (const agent of [{ mbus: 'https://mbus:password@0.0.0.0:6868' }, {}]) {
      const { cloud } = await testCloud(t, { agent });
      assert.equal(
        await createStemcell(cloud, { imagePath, cloudProperties: older, env: {} }),
        own.image_reference,
      );
    }
  });
});

describe('an image that create_stemcell did not make', () => {
  test('stays, also in the same repository', async (t) => {
    const { registry, cloud, notes } = await world(t);
    const manifest = Buffer.from('{"schemaVersion":2,"annotations":{"by":"somebody"}}');
    registry.manifests.set(digestOf(manifest), manifest);
    const repository = 'registry.internal:5000/bosh/stemcells';
    assert.equal(await deleteStemcell(cloud, { stemcellCid: `${repository}@${digestOf(manifest)}` }), null);
    assert.ok(registry.manifests.has(digestOf(manifest)));
    assert.match(notes.join(''), /not made by create_stemcell/u);
    registry.log.length = 0;
    for (const cid of [
      `${repository}:1.2`,
      `registry.internal:5000/bosh/other@${digestOf(manifest)}`,
      `other.internal:5000/bosh/stemcells@${digestOf(manifest)}`,
      `${repository}@sha256:../../manifests`,
      'garbage',
    ]) {
      assert.equal(await deleteStemcell(cloud, { stemcellCid: cid }), null);
      assert.ok(
        notes.at(-1)?.includes(`Nothing was deleted: the stemcell '${cid}' is not an image`),
        notes.at(-1),
      );
    }
    assert.deepEqual(registry.log, [], 'nobody is asked');
  });
});

/** Returns a tar of one entry without content. */
function tarOf(name: string, type = '0'): Buffer {
  const block = Buffer.alloc(512);
  block.write(name, 0);
  block.write('0000644\0', 100);
  block.write('0000000\0', 108);
  block.write('0000000\0', 116);
  block.write('00000000000\0', 124);
  block.write('00000000000\0', 136);
  block.write('        ', 148);
  block.write(type, 156);
  block.write('ustar\u000000', 257);
  block.write('0000010\0', 329);
  block.write('0000000\0', 337);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return Buffer.concat([block, Buffer.alloc(1024)]);
}
