import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, after, before, describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { scratchDirectory } from '../../src/bosh/testing/scratch.ts';
import { unpackedStemcell } from '../../src/cpi/stemcell/testing/unpacked-stemcell.ts';
import type { CpiResponse } from '../../src/cpi/protocol/protocol.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { hasBlob } from '../../src/oci/registry/push-blob.ts';
import { getManifest } from '../../src/oci/registry/manifests.ts';
import { openRegistry } from '../../src/oci/registry/open-registry.ts';
import type { RegistryClient } from '../../src/oci/registry/registry-client.ts';
import {
  type DockerRegistry,
  dockerRegistryIsMissing,
  startDockerRegistry,
} from '../../src/oci/registry/testing/docker-registry.ts';
import { HostileRegistry } from '../../src/oci/registry/testing/hostile-registry.ts';
import { type Artefact, type CallOptions, call, isMissing, runCpi } from './artefact.ts';
import { CpiWorld } from './cpi-world.ts';

let world: CpiWorld;

before(async () => {
  world = await CpiWorld.start();
});
after(() => world.stop());

const properties = { name: 'bosh-warden', version: '1.165', architecture: 'x86_64' };

for (const name of ['executable', 'bundle'] as const) {
  describe(`heavy stemcells of the CPI's ${name}`, { skip: isMissing(name) }, () => {
    const artefact = (): Artefact => {
      const found = world.artefacts.get(name);
      assert.ok(found !== undefined);
      return found;
    };
    const ask = (method: string, args: unknown[], registry: object): Promise<CpiResponse> =>
      call(artefact(), requestOf(method, args, registry), { config: world.config });

    for (const authentication of ['basic', 'token'] as const) {
      const title = `go to Docker's registry server and are deleted there (authentication: ${authentication})`;
      test(title, { skip: dockerRegistryIsMissing() }, async (t) => {
        const server = await startDockerRegistry(t, { authentication, deletes: true });
        const { imagePath } = await unpackedStemcell(await scratchDirectory(t));
        const registry = settingsOf(server);
        const cids: string[] = [];
        for (let count = 0; count < 2; count += 1) {
          const { result, error, log } = await ask('create_stemcell', [imagePath, properties], registry);
          assert.equal(error, null, error?.message);
          assert.match(log, /^layer sha256:[0-9a-f]{64}: (?:uploaded|present)\n.*has the tag bosh-warden/u);
          cids.push(String(result));
        }
        const [first = '', second = ''] = cids;
        assert.notEqual(first, second);
        const [gone, kept] = [await manifestOf(t, server, first), await manifestOf(t, server, second)];
        assert.ok(gone && kept);
        for (let count = 0; count < 2; count += 1) {
          const { result, error } = await ask('delete_stemcell', [first], registry);
          assert.deepEqual([result, error], [null, null]);
        }
        assert.equal(await manifestOf(t, server, first), undefined);
        assert.deepEqual(await manifestOf(t, server, second), kept);
        await server.collectGarbage();
        const client = clientOf(t, server);
        assert.ok(!(await hasBlob(client, gone.config.digest)), 'what only the deleted one had');
        assert.deepEqual(gone.layers, kept.layers);
        for (const { digest } of [kept.config, ...kept.layers])
          assert.ok(await hasBlob(client, digest), digest);
        assert.deepEqual(await manifestOf(t, server, second), kept);
        const mistaken = { ...registry, password: 'not-the-password' };
        const { error } = await ask('create_stemcell', [imagePath, properties], mistaken);
        assert.equal(error?.type, 'Bosh::Clouds::CloudError');
        assert.doesNotMatch(error?.message ?? '', /not-the-password|namespace/u);
        const untrusting = await ask('delete_stemcell', [second], { ...registry, ca: undefined });
        assert.match(untrusting.error?.message ?? '', /certificate cannot be verified/u);
      });
    }

    test('killed at any point leave nothing published and no file, and the same call again succeeds', async (t) => {
      const registry = await HostileRegistry.start(t);
      const directory = await scratchDirectory(t);
      // more than one chunk, of bytes that do not compress
      const { imagePath } = await unpackedStemcell(
        join(directory, 'stemcell'),
        randomBytes(10 * 1024 * 1024).toString('latin1'),
      );
      const temporary = join(directory, 'tmp');
      await mkdir(temporary);
      const section = { url: registry.origin, repository: 'bosh/stemcells' };
      const request = requestOf('create_stemcell', [imagePath, properties], section);
      for (const [method, path, after_] of [
        ['HEAD', /blobs/u, 0],
        ['POST', /uploads/u, 0],
        ['PATCH', /uploads/u, 1],
        ['PUT', /uploads/u, 0],
        ['PUT', /manifests/u, 0],
      ] as const) {
        let seen = 0;
        let child: { kill(signal: NodeJS.Signals): boolean } | undefined;
        registry.trouble = (incoming) => {
          if (incoming.method !== method || !path.test(incoming.url ?? '')) return undefined;
          seen += 1;
          if (seen <= after_) return undefined;
          child?.kill('SIGKILL');
          return true;
        };
        const options: CallOptions = {
          config: world.config,
          environment: { PATH: '/usr/bin:/bin', TMPDIR: temporary, HOME: temporary },
          directory: temporary,
          onStart: (process) => {
            child = process;
          },
        };
        const outcome = await runCpi(artefact(), JSON.stringify(request), options);
        assert.equal(outcome.stdout, '', `${method} ${String(path)}`);
        assert.equal(registry.manifests.size, 0);
        assert.deepEqual(await readdir(temporary), []);
        assert.deepEqual((await readdir(join(directory, 'stemcell'))).toSorted(), ['image', 'stemcell.MF']);
      }
      registry.trouble = () => undefined;
      const { result, error } = await call(artefact(), request, { config: world.config });
      assert.equal(error, null, error?.message);
      assert.ok(registry.manifests.has(String(result).split(/[@#]/u)[1] ?? ''));
      const stored = [...registry.blobs.values()].find((blob) => blob.length > 1_000_000);
      assert.deepEqual(stored, await readFile(imagePath));
      assert.ok(gunzipSync(stored ?? Buffer.alloc(0)).length > 0);
    });

    test('without a registry are refused by name; a light one needs none', async (t) => {
      const directory = await scratchDirectory(t);
      const { imagePath } = await unpackedStemcell(directory);
      const { error } = await ask('create_stemcell', [imagePath, properties], {});
      assert.equal(error?.type, 'Bosh::Clouds::NotSupported');
      assert.match(error.message, /registry\.url/u);
      await writeFile(imagePath, '');
      const light = { image_reference: 'registry.example/stemcell:1' };
      assert.equal((await ask('create_stemcell', [imagePath, light], {})).result, light.image_reference);
    });

    test('keep the password to themselves', async (t) => {
      const { imagePath } = await unpackedStemcell(await scratchDirectory(t));
      const registry = await HostileRegistry.start(t);
      registry.trouble = (request, response) => {
        const output = `${request.headers.authorization ?? 'nothing'} pass-word-of-robot`;
        response.writeHead(request.headers.authorization === undefined ? 401 : 418, {
          'www-authenticate': 'Basic realm="x"',
        });
        response.end(JSON.stringify({ errors: [{ code: 'ODD', message: output }] }));
        return true;
      };
      const section = {
        ...{ url: registry.origin, repository: 'bosh/stemcells' },
        ...{ username: 'robot', password: 'pass-word-of-robot' },
      };
      const request = requestOf('create_stemcell', [imagePath, properties], section);
      const { stdout, stderr } = await runCpi(artefact(), JSON.stringify(request), { config: world.config });
      const basic = Buffer.from('robot:pass-word-of-robot').toString('base64');
      assert.match(stdout, /"error":\{/u);
      for (const secret of [basic, 'pass-word-of-robot'])
        assert.ok(!(stdout + stderr).includes(secret), stdout);
    });
  });
}

function settingsOf({ origin, ca, credentials }: DockerRegistry): object {
  return { url: origin, repository: 'bosh/stemcells', ca, ...credentials };
}

function clientOf(t: TestContext, { origin, ca, credentials }: DockerRegistry): RegistryClient {
  const client = openRegistry({
    ...{ origin, ca, credentials, repository: 'bosh/stemcells', clock: systemClock },
  });
  t.after(() => client.close());
  return client;
}

interface Manifest {
  readonly config: { readonly digest: string };
  readonly layers: readonly { readonly digest: string }[];
}

async function manifestOf(
  t: TestContext,
  server: DockerRegistry,
  cid: string,
): Promise<Manifest | undefined> {
  assert.ok(cid.startsWith(`${server.host}/bosh/stemcells@sha256:`), cid);
  const bytes = await getManifest(clientOf(t, server), cid.split(/[@#]/u)[1] ?? '');
  return bytes === undefined ? undefined : (JSON.parse(bytes.toString()) as Manifest);
}

const requestOf = (method: string, args: unknown[], registry: object): object => ({
  ...{ method, arguments: args, api_version: 2 },
  context: { director_uuid: 'd-1', registry },
});
