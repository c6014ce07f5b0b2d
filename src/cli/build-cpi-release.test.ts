import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { boshCli, withoutBoshCli } from '../../test/support/upstream-programs.ts';
import { readGitState } from '../bosh/release/git-state.ts';
import { openRelease } from '../bosh/release/open-release.ts';
import type { PackedPart } from '../bosh/release/release-parts.ts';
import { scratchDirectory } from '../bosh/testing/scratch.ts';
import { releasePorts } from './args/release-arguments.ts';
import { buildCpiRelease, type CpiRelease, type CpiReleaseOptions } from './build-cpi-release.ts';

const repository = join(import.meta.dirname, '../..');

interface Checkout {
  readonly home: string;
  readonly root: string;
  readonly build: (options?: Partial<CpiReleaseOptions>) => Promise<CpiRelease>;
}

/** Creates a copy of this repository's release, with artefacts of a few bytes. */
async function checkout(t: TestContext): Promise<Checkout> {
  const home = await scratchDirectory(t);
  const root = join(home, 'checkout');
  for (const name of ['config', 'jobs', 'packages'])
    await cp(join(repository, 'release', name), join(root, 'release', name), { recursive: true });
  await mkdir(join(root, 'dist/cpi'), { recursive: true });
  await writeFile(join(root, 'dist/cpi/cpi.cjs'), 'bundle\n');
  await writeFile(join(root, 'dist/cpi/cpi'), 'executable\n');
  await chmod(join(root, 'dist/cpi/cpi'), 0o755);
  for (const name of ['LICENSE', 'NOTICE']) await writeFile(join(root, 'dist/cpi', name), `${name}\n`);
  const terminal = {
    out: () => undefined,
    error: () => undefined,
    canAsk: false,
    ask: () => Promise.resolve(''),
  };
  const ports = {
    ...releasePorts({ environment: { HOME: home }, terminal, signal: new AbortController().signal }),
    readGit: readGitState,
  };
  return { home, root, build: (options = {}) => buildCpiRelease({ root, ...options }, ports) };
}

interface Variables {
  readonly kubernetes_cpi_release_url: string;
  readonly kubernetes_cpi_release_sha1: string;
  readonly kubernetes_cpi_release_version: string;
}

const prints = ({ release }: CpiRelease): readonly string[] =>
  release.parts.map(({ name, fingerprint }: PackedPart) => `${name}/${fingerprint}`);

test('the variables name the archive, which has the job and both artefacts, and the version in the ops file is a string', async (t) => {
  const { home, root, build } = await checkout(t);
  const made = await build({ final: true });
  assert.equal(made.hasExecutable, true);
  const variables = parse(await readFile(made.variablesPath, 'utf8')) as Variables;
  assert.deepEqual(variables, parse(made.variables));
  assert.equal(variables.kubernetes_cpi_release_version, '1');
  const archivePath = join(root, 'dist/releases/bosh-kubernetes-1.tgz');
  assert.equal(variables.kubernetes_cpi_release_url, `file://${archivePath}`);
  const digest = variables.kubernetes_cpi_release_sha1;
  const opened = await openRelease({ archivePath, digest, directory: join(home, 'out'), within: home });
  assert.deepEqual(
    [opened.name, opened.jobs.map(({ name }) => name)],
    ['bosh-kubernetes', ['kubernetes_cpi']],
  );
  assert.equal(await readFile(join(root, 'release/NOTICE'), 'utf8'), 'NOTICE\n');
  assert.ok(made.release.parts.some(({ kind }) => kind === 'license'));
  const [packed] = opened.packages;
  await promisify(execFile)('tar', ['-xzf', packed?.archivePath ?? '', '-C', home]);
  assert.equal(await readFile(join(home, 'bosh_kubernetes_cpi/cpi'), 'utf8'), 'executable\n');

  // A later build without an executable does not include the previous executable.
  await rm(join(root, 'dist/cpi/cpi'));
  const without = await build();
  assert.equal(without.hasExecutable, false);
  assert.equal(without.release.version, '1+dev.1');
  assert.notDeepEqual(prints(without), prints(made));
});

test('--url takes the future location of the archive, and refuses other schemes and passwords', async (t) => {
  const { build } = await checkout(t);
  const { variables } = await build({ url: 'https://a.example/((name))/((version)).tgz' });
  const { kubernetes_cpi_release_url: url } = parse(variables) as Variables;
  assert.equal(url, 'https://a.example/bosh-kubernetes/0%2Bdev.1.tgz');
  for (const wrong of ['a.tgz', 'ftp://a.example/x', 'https://user:s3cret@a.example/x'])
    await assert.rejects(build({ url: wrong }), (error: Error) => {
      assert.match(error.message, /--url (needs|contains|must)/u);
      assert.doesNotMatch(error.message, /s3cret/u);
      return true;
    });
});

test(
  "the bosh CLI computes the same fingerprints of the CPI's release",
  { skip: withoutBoshCli() },
  async (t) => {
    const { home, root, build } = await checkout(t);
    const made = await build();
    // Remove these archives so that the bosh CLI packs the parts itself.
    await rm(join(root, 'release/.dev_builds'), { recursive: true });
    const options = { cwd: join(root, 'release'), env: { ...process.env, HOME: join(home, 'upstream') } };
    const { stdout } = await promisify(execFile)(boshCli() ?? 'bosh', ['create-release', '--json'], options);
    const { Tables } = JSON.parse(stdout) as { Tables: { Rows: Record<string, string>[] }[] };
    const upstream = Tables.slice(1).flatMap(({ Rows }) => Rows.map((row) => row['job'] ?? row['package']));
    assert.deepEqual(
      upstream,
      prints(made).filter((one) => !one.startsWith('license/')),
    );
  },
);
