import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { describe, test } from 'node:test';
import { packArchive, type ArchiveEntry } from '../../bosh/archive/pack-archive.ts';
import { scratchDirectory } from '../../bosh/testing/scratch.ts';
import { dockerRegistryIsMissing, startDockerRegistry } from '../../oci/registry/testing/docker-registry.ts';
import { mainModulePath } from '../installation.ts';

const megabyte = 1024 * 1024;
const size = 600 * megabyte;
/** The largest allowed resident memory, in KiB. */
const limit = 150 * 1024;
const checkout = join(import.meta.dirname, '..', '..', '..');

/** Runs the command and returns its peak resident memory in KiB, as the kernel measured it (getrusage(2)). */
async function peakOf(
  directory: string,
  args: readonly string[],
  changes: Readonly<Record<string, string>> = {},
): Promise<number> {
  const note = join(directory, 'peak');
  const probe = join(directory, 'probe.mjs');
  await writeFile(
    probe,
    `import { writeFileSync } from 'node:fs';
process.on('exit', () => writeFileSync(process.env.PEAK, String(process.resourceUsage().maxRSS)));`,
  );
  const child = spawn(process.execPath, ['--import', probe, mainModulePath(checkout), ...args], {
    env: { ...process.env, PEAK: note, ...changes },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const [output, code] = await Promise.all([
    text(child.stderr),
    new Promise((resolve, reject) => child.on('error', reject).on('close', resolve)),
  ]);
  assert.equal(code, 0, output);
  return Number(await readFile(note, 'utf8'));
}

/** Creates a root with a file of 600 MB that does not compress. */
async function largeRoot(directory: string, outFile: string, compression: 'none' | 'stored'): Promise<void> {
  const content = join(directory, 'content');
  const block = randomBytes(megabyte);
  {
    await using file = await open(content, 'w');
    for (let written = 0; written < size; written += megabyte) {
      block.writeUInt32LE(written, 0);
      await file.writeFile(block);
    }
  }
  const entries: ArchiveEntry[] = [
    { kind: 'content', name: './bin/sh', mode: 0o755, content: '#!' },
    { kind: 'content', name: './var/vcap/bosh/bin/bosh-agent', mode: 0o755, content: '#!' },
    { kind: 'file', name: './usr/large', mode: 0o644, path: content, size },
  ];
  await packArchive(entries, outFile, { compression });
  await rm(content);
}

async function largeStemcell(directory: string): Promise<string> {
  const image = join(directory, 'image');
  await largeRoot(directory, image, 'stored');
  const hash = createHash('sha1');
  await pipeline(createReadStream(image), hash);
  const manifest = `name: large\nversion: '1'\noperating_system: ubuntu-noble\nsha1: ${hash.digest('hex')}\n`;
  const path = join(directory, 'large.tgz');
  await packArchive(
    [
      { kind: 'file', name: 'image', mode: 0o644, path: image, size: (await stat(image)).size },
      { kind: 'content', name: 'stemcell.MF', mode: 0o644, content: manifest },
    ],
    path,
    { compression: 'stored' },
  );
  await rm(image);
  return path;
}

describe('stemcell build of 600 MB takes less than 150 MB of memory', () => {
  const small = limit / 10;

  test('builds from a heavy stemcell, and from the resulting layout, and loads the image', async (t) => {
    const directory = await scratchDirectory(t);
    const source = await largeStemcell(directory);
    const output = join(directory, 'first');
    const first = await peakOf(directory, ['stemcell', 'build', '--from', source, '--output', output]);
    await rm(source);
    const again = join(directory, 'second');
    const second = await peakOf(directory, [
      ...['stemcell', 'build', '--from', join(output, 'image'), '--output', again],
    ]);
    const bin = join(directory, 'bin');
    await mkdir(bin);
    const taken = join(directory, 'taken');
    await writeFile(join(bin, 'ctr'), `#!/bin/sh\nexec wc -c > '${taken}'\n`, { mode: 0o755 });
    const path = `${bin}:${process.env['PATH'] ?? ''}`;
    const loaded = await peakOf(directory, ['stemcell', 'load', output], { PATH: path });
    assert.ok(Number(await readFile(taken, 'utf8')) > size);
    t.diagnostic(`peaks of resident memory: ${first >> 10}, ${second >> 10} and ${loaded >> 10} MB`);
    for (const peak of [first, second, loaded]) assert.ok(peak > small && peak < limit, `${peak} KiB`);
  });

  test('builds from root.tar.gz', async (t) => {
    const directory = await scratchDirectory(t);
    const source = join(directory, 'root.tar.gz');
    await largeRoot(directory, source, 'stored');
    const args = ['stemcell', 'build', '--from', source, '--output', join(directory, 'out')];
    const peak = await peakOf(directory, [...args, '--operating-system', 'debian-bookworm']);
    t.diagnostic(`peak of resident memory: ${peak >> 10} MB`);
    assert.ok(peak > small && peak < limit, `${peak} KiB`);
  });

  const missing = dockerRegistryIsMissing();
  if (missing !== false) test('pushes the image that it builds from root.tar', { skip: missing });
  test(
    missing === false ? 'builds from root.tar, and pushes the image' : 'builds from root.tar',
    async (t) => {
      const directory = await scratchDirectory(t);
      const source = join(directory, 'root.tar');
      await largeRoot(directory, source, 'none');
      const args = ['stemcell', 'build', '--from', source, '--output', join(directory, 'out')];
      if (missing === false) {
        const { host, ca } = await startDockerRegistry(t, { authentication: 'none', deletes: true });
        await writeFile(join(directory, 'ca.pem'), ca);
        args.push('--push', `${host}/bosh/large:1`, '--registry-ca', join(directory, 'ca.pem'));
      }
      const peak = await peakOf(directory, [...args, '--operating-system', 'debian-bookworm']);
      t.diagnostic(`peak of resident memory: ${peak >> 10} MB`);
      assert.ok(peak > small && peak < limit, `${peak} KiB`);
    },
  );
});
