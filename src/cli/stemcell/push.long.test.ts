import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { scratchDirectory } from '../../bosh/testing/scratch.ts';
import { addImage } from '../../oci/layout/add-image.ts';
import { writeLayout } from '../../oci/layout/write-layout.ts';
import { mediaTypes } from '../../oci/image-source.ts';
import { dockerRegistryIsMissing, startDockerRegistry } from '../../oci/registry/testing/docker-registry.ts';
import { writeLargeRoot } from '../../oci/testing/large-root.ts';
import { PeakMemory } from '../../oci/testing/peak-memory.ts';
import { mainModulePath } from '../installation.ts';

const main = mainModulePath(join(import.meta.dirname, '..', '..', '..'));

test(
  'stemcell push sends 600 MB with less than 150 MB of memory',
  { skip: dockerRegistryIsMissing() },
  async (t) => {
    const { host, ca, credentials } = await startDockerRegistry(t, {
      authentication: 'token',
      deletes: true,
    });
    const directory = await scratchDirectory(t);
    const root = join(directory, 'root.tar.gz');
    await writeLargeRoot(root, 600);
    const layout = join(directory, 'layout');
    await writeLayout(layout, async (blobs) => ({
      ...{ reference: 'a:1', architecture: 'amd64' },
      manifest: await addImage(blobs, {
        config: { config: {} },
        layers: [await blobs.add(mediaTypes.gzipLayer, createReadStream(root))],
      }),
    }));
    const docker = join(directory, 'docker');
    await mkdir(docker);
    const auth = Buffer.from(`${credentials.username}:${credentials.password}`).toString('base64');
    await writeFile(join(docker, 'config.json'), JSON.stringify({ auths: { [host]: { auth } } }));
    await writeFile(join(directory, 'ca.pem'), ca);
    const args = ['push', layout, `${host}/bosh/stemcell:1`, '--registry-ca', join(directory, 'ca.pem')];
    const memory = new PeakMemory();
    const child = spawn(process.execPath, [main, 'stemcell', ...args], {
      env: { PATH: process.env['PATH'], HOME: directory, DOCKER_CONFIG: docker },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    memory.watch(child);
    const [out, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
    const peak = await memory.end();
    assert.match(out, /stemcell:1@sha256:/u, errors);
    t.diagnostic(`peak: ${Math.round(peak / 1024)} MB of resident memory`);
    assert.ok(peak > 10_000 && peak < 150 * 1024, `${peak} KiB`);
  },
);
