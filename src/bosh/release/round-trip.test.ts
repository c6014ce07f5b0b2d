import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { stringify } from 'yaml';
import { boshCli } from '../../../test/support/upstream-programs.ts';
import { unpackArchive } from '../archive/unpack-archive.ts';
import { scratchDirectory } from '../testing/scratch.ts';
import { createRelease } from './create-release.ts';
import { fingerprint } from './fingerprint.ts';
import { openRelease } from './open-release.ts';

interface FileOfPackage {
  readonly path: string;
  readonly mode: number;
  /** The text, or the target of a link. */
  readonly content: string;
  readonly isLink: boolean;
}

const name = fc.stringMatching(/^[a-z.+ _é-][a-z0-9.+ _é-]{0,7}$/u).filter((text) => !/^\.{1,2}$/u.test(text));
const file: fc.Arbitrary<FileOfPackage> = fc.record({
  // Two depths, so that no file is the directory of another.
  path: fc.oneof(name.map((one) => `p/f-${one}`), fc.tuple(name, name).map(([a, b]) => `p/d-${a}/f-${b}`)),
  // Not 0610: the bosh CLI cannot make an archive of such a file.
  mode: fc.constantFrom(0o644, 0o755, 0o600, 0o711),
  content: fc.string({ minLength: 1 }),
  isLink: fc.boolean(),
});
interface ReleaseOf {
  readonly files: readonly FileOfPackage[];
  readonly hasDependency: boolean;
  readonly noCompression: boolean;
  readonly jobProperty: string;
}

const release: fc.Arbitrary<ReleaseOf> = fc.record({
  files: fc.uniqueArray(file, { minLength: 1, maxLength: 6, selector: ({ path }) => path }),
  hasDependency: fc.boolean(),
  noCompression: fc.boolean(),
  jobProperty: fc.string(),
});

async function writeRelease(directory: string, { files, hasDependency, noCompression, jobProperty }: ReleaseOf) {
  const write = async (path: string, content: string, mode = 0o644): Promise<void> => {
    const target = join(directory, path);
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, content);
    await chmod(target, mode);
  };
  await rm(directory, { recursive: true, force: true });
  await write('config/final.yml', stringify({ name: 'r', no_compression: noCompression }));
  await write('config/blobs.yml', '--- {}\n');
  await write('packages/base/spec', stringify({ name: 'base', files: [] }));
  await write('packages/base/packaging', 'true\n');
  await write('packages/p/spec', stringify({ name: 'p', dependencies: hasDependency ? ['base'] : [], files: ['p/**/*'] }));
  await write('packages/p/packaging', 'true\n');
  const properties = { x: { default: jobProperty } };
  await write('jobs/j/spec', stringify({ name: 'j', templates: {}, packages: ['p'], properties }));
  await write('jobs/j/monit', '');
  await mkdir(join(directory, 'src'));
  for (const { path, mode, content, isLink } of files) {
    await mkdir(dirname(join(directory, 'src', path)), { recursive: true });
    if (isLink) await symlink('nowhere', join(directory, 'src', path));
    else await write(`src/${path}`, content, mode);
  }
}

/** Returns the fingerprint of the unpacked archive of a package. */
async function fingerprintOf(archivePath: string, directory: string, dependencies: readonly string[]): Promise<string> {
  await unpackArchive(archivePath, directory);
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => ({ path, name: path.slice(directory.length + 1), ignoreMode: path === join(directory, 'packaging') }));
  return fingerprint(files, { followLinks: false, dependencies });
}

test('property: an unpacked archive has the fingerprint of its sources, which the bosh CLI computes too', async (t) => {
  const scratch = await scratchDirectory(t);
  const directory = join(scratch, 'release');
  const bosh = boshCli();
  let ids = 0;
  const ports = {
    cacheDirectory: join(scratch, 'cache'),
    readGit: () => Promise.resolve({ commitHash: 'non-git', changes: '' }),
    newId: () => `id-${(ids += 1)}`,
    now: () => 0,
    notice: () => undefined,
  };
  await fc.assert(
    fc.asyncProperty(release, async (given) => {
      await writeRelease(directory, given);
      const made = await createRelease({ directory, tarball: join(scratch, 'r.tgz') }, ports);
      const opened = await openRelease({ archivePath: join(scratch, 'r.tgz'), directory: join(scratch, 'out'), within: scratch });
      const expected = made.parts.map((part) => `${part.kind} ${part.name}/${part.fingerprint}`);
      assert.deepEqual(
        [
          ...opened.jobs.map((job) => `job ${job.name}/${job.fingerprint}`),
          ...opened.packages.map((one) => `package ${one.name}/${one.fingerprint}`),
        ],
        expected,
      );
      for (const { name: of, archivePath, dependencies, fingerprint: known } of opened.packages)
        assert.equal(await fingerprintOf(archivePath, join(scratch, 'out', 'check', of), dependencies), known);
      if (bosh === undefined) return;
      await rm(join(directory, '.dev_builds'), { recursive: true });
      const options = { cwd: directory, env: { ...process.env, HOME: join(scratch, 'home') } };
      const { stdout } = await promisify(execFile)(bosh, ['create-release', '--json'], options);
      const { Tables } = JSON.parse(stdout) as { Tables: { Content: string; Rows: Record<string, string>[] }[] };
      const upstream = Tables.slice(1).flatMap(({ Rows }) => Rows.map((row) => row['job'] ?? row['package'] ?? ''));
      assert.deepEqual(upstream, expected.map((text) => text.replace(/^\w+ /u, '')));
    }),
    { numRuns: 15 },
  );
});
