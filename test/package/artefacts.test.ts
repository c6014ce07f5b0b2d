import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { after, before, test } from 'node:test';
import { isDeepStrictEqual, promisify } from 'node:util';
import product from '../../package.json' with { type: 'json' };
import { openRelease } from '../../src/bosh/release/open-release.ts';
import type { Release } from '../../src/bosh/release/release.ts';
import { scratchDirectory } from '../../src/bosh/testing/scratch.ts';
import { parse } from 'yaml';
import type { BillOfMaterials } from '../../scripts/package/make-bill-of-materials.ts';
import { type Commit, readCommit } from '../../scripts/package/read-commit.ts';
import { ownCommandPath } from '../cluster/support/page-commands.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const { version } = product;
/** The commands of docs/releases.md run here, as in the checkout. */
const operators = join(root, 'dist', 'package-test');
const out = join(operators, 'dist', 'package');
const url = 'https://releases.example/((name))-((version)).tgz';

const pack = async (checkout: string, directory: string, environment = {}): Promise<readonly string[]> => {
  const args = ['scripts/package/main.ts', '--out', directory, '--url', url];
  const options = { cwd: checkout, env: { ...process.env, ...environment } };
  const { stdout } = await run(process.execPath, args, options);
  return stdout.trim().split('\n');
};
const artefact = (name: string): string => join(out, name);
const readBill = async (): Promise<BillOfMaterials> =>
  JSON.parse(await readFile(artefact(`bosh-kubernetes-${version}.cdx.json`), 'utf8')) as BillOfMaterials;

let paths: readonly string[] = [];
let commit: Commit;

before(async () => {
  commit = await readCommit(root);
  await rm(operators, { recursive: true, force: true });
  await mkdir(out, { recursive: true });
  await symlink(join(root, 'package.json'), join(operators, 'package.json'));
  // An archive of another version is in the way.
  await writeFile(artefact('bosh-kubernetes-0.0.9.tgz'), 'old');
  paths = await pack(root, out);
});

after(() => rm(operators, { recursive: true }));

test('a second build of the commit, in another folder, at another time and by other settings, gives the same bytes', async (t) => {
  // Inside of this checkout, so that it is in the same file system and the same git repository.
  const copy = join(root, 'dist', 'second-build');
  const remove = (): Promise<void> => rm(copy, { recursive: true, force: true });
  await remove();
  t.after(remove);
  await mkdir(copy, { recursive: true });
  await run('cp', ['-al', join(root, 'node_modules'), copy]);
  const left = ['dist', 'node_modules', 'test', 'bench', 'tools'];
  const names = (await readdir(root)).filter((name) => !left.includes(name) && !name.startsWith('.'));
  for (const name of names) await cp(join(root, name), join(copy, name), { recursive: true });
  const environment = { TZ: 'Asia/Tokyo', LC_ALL: 'C', NODE_COMPILE_CACHE: '' };
  const built = await run('sh', ['-c', 'umask 077 && exec "$0" scripts/build.ts', process.execPath], {
    cwd: copy,
    env: { ...process.env, ...environment },
  });
  assert.equal(built.stderr, '');
  const second = join(copy, 'artefacts');
  await pack(copy, second, environment);
  if (!isDeepStrictEqual(await readCommit(root), commit))
    return t.skip('the checkout was changed during the builds');
  assert.equal(
    await readFile(join(second, 'SHA256SUMS'), 'utf8'),
    await readFile(artefact('SHA256SUMS'), 'utf8'),
  );
});

test('the commands of docs/releases.md check the version', async () => {
  const page = await readFile(join(root, 'docs/releases.md'), 'utf8');
  const [, commands = ''] = /^### Check a version\n.*?^```sh\n(.*?)^```$/msu.exec(page) ?? [];
  const PATH = `${await ownCommandPath(operators)}:${process.env['PATH']}`;
  const { stdout } = await run('bash', ['-euc', commands], {
    ...{ cwd: operators, env: { ...process.env, PATH } },
  });
  const names = paths.slice(0, -1).map((path) => basename(path));
  assert.equal(names[0], `bosh-kubernetes-${version}.tgz`);
  // All files of this version are in the sums, and no others.
  const checked = stdout.split('\n').filter((line) => line.endsWith(': OK'));
  assert.deepEqual(checked.toSorted(), names.map((name) => `${name}: OK`).toSorted());
  assert.match(stdout, new RegExp(`^bosh-kubernetes +${version} `, 'mu'));
  assert.match(stdout, /^commit_hash: ([0-9a-f]{12}|non-git)\nuncommitted_changes: (true|false)$/mu);
  assert.match(stdout, new RegExp(`^node@${process.version.slice(1)}$`, 'mu'));
});

test('both releases have the version, and the block of variables names the archive', async (t) => {
  const within = await scratchDirectory(t);
  const text = await readFile(artefact(`bosh-kubernetes-cpi-release-${version}.yml`), 'utf8');
  const variables = parse(text) as Record<string, string>;
  assert.equal(variables['kubernetes_cpi_release_version'], version);
  assert.equal(
    variables['kubernetes_cpi_release_url'],
    `https://releases.example/bosh-kubernetes-${version}.tgz`,
  );
  const digest = variables['kubernetes_cpi_release_sha1'] ?? '';
  const archivePath = artefact(`bosh-kubernetes-cpi-release-${version}.tgz`);
  const directory = join(within, 'cpi');
  const cpi = await openRelease({ archivePath, digest, directory, within });
  assert.deepEqual([cpi.version, cpi.jobs.map(({ name }) => name)], [version, ['kubernetes_cpi']]);
  const volumes = await openRelease({
    archivePath: artefact(`bosh-kubernetes-volumes-release-${version}.tgz`),
    directory: join(within, 'volumes'),
    within,
  });
  assert.deepEqual([volumes.version, volumes.jobs.length], [version, 4]);
  // The command makes the same release, so that an installation from the npm package has it too.
  const packed = join(within, 'packed.tgz');
  await run(process.execPath, [join(root, 'bin', 'bosh-kubernetes.mjs'), 'release', 'volumes', packed]);
  const again = await openRelease({ archivePath: packed, directory: join(within, 'again'), within });
  const prints = ({ jobs, packages }: Release): readonly string[] =>
    [...jobs, ...packages].map(({ name, fingerprint }) => `${name}/${fingerprint}`);
  assert.deepEqual([again.version, prints(again)], [version, prints(volumes)]);
});

test(
  'the archive of static-ip has the plugin, its licences and the files that install it',
  { skip: process.arch === 'x64' ? false : 'Bun is for x86-64' },
  async (t) => {
    const directory = await scratchDirectory(t);
    await run('tar', ['-xzf', artefact(`static-ip-${version}.tgz`), '-C', directory]);
    const folder = join(directory, `static-ip-${version}`);
    const command = run(join(folder, 'static-ip'), [], { env: { CNI_COMMAND: 'VERSION' } });
    command.child.stdin?.end('{"cniVersion": "1.0.0"}');
    assert.match((await command).stdout, /"supportedVersions"/u);
    for (const name of ['LICENSE', 'NOTICE', 'Dockerfile', 'daemonset.yaml', 'remove.yaml'])
      assert.notEqual(await readFile(join(folder, name), 'utf8'), '');
  },
);

test('the bill of materials lists what is shipped, and nothing else', async () => {
  const { components, dependencies, metadata } = await readBill();
  const own = metadata.component;
  assert.deepEqual([own.name, own.version], ['bosh-kubernetes', version]);
  const names = new Set(components.map(({ name }) => name));
  // esbuild leaves the path of each source above its code in a bundle that is not minified.
  const bundles = ['cli/main.mjs', 'cluster/main.mjs', 'volumes/broker.mjs', 'volumes/driver.mjs'];
  for (const bundle of bundles) {
    const code = await readFile(join(root, 'dist', bundle), 'utf8');
    const sources = [...code.matchAll(/^\s*\/\/ .*node_modules\/((?:@[^/\n]+\/)?[^/\n]+)\/\S+$/gmu)];
    const packages = new Set(sources.map(([, name = '']) => name));
    assert.ok(packages.size > 0, bundle);
    assert.deepEqual(
      [...packages].filter((name) => !names.has(name)),
      [],
      bundle,
    );
  }
  for (const tool of ['esbuild', 'typescript', 'fast-check', '@grpc/grpc-js', '@types/node'])
    assert.ok(!names.has(tool), tool);
  const platforms = components.filter(({ type }) => type === 'platform');
  assert.deepEqual(
    platforms.map(({ name, licenses = [] }) => [name, licenses.length]),
    ['bun', 'node', 'ruby']
      .filter((name) => name !== 'bun' || process.arch === 'x64')
      .map((name) => [name, 1]),
  );
  assert.equal(platforms.find(({ name }) => name === 'node')?.version, process.version.slice(1));
  const refs = components.map((each) => each['bom-ref']);
  assert.equal(new Set(refs).size, refs.length);
  const named = dependencies.flatMap(({ ref, dependsOn }) => [ref, ...dependsOn]);
  assert.deepEqual(
    named.filter((ref) => !refs.includes(ref) && ref !== own['bom-ref']),
    [],
  );
});

test('the serial number and the time of the bill of materials are those of the commit', async () => {
  const { serialNumber, metadata } = await readBill();
  assert.match(serialNumber, /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/u);
  const git = await run('git', ['log', '-1', '--format=%ct'], { cwd: root }).catch(() => undefined);
  const time = git === undefined ? undefined : new Date(Number(git.stdout) * 1000).toISOString();
  assert.equal(metadata.timestamp, time);
});
