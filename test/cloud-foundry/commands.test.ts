import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmod, copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { stringify } from 'yaml';
import { scratchDirectory } from '../../src/bosh/testing/scratch.ts';
import { foundryCommands, type FoundryScript } from '../../src/director/cloud-foundry/foundry-commands.ts';
import { dnsOpsFiles, foundryOpsFiles } from '../../src/director/cloud-foundry/ops-files.ts';
import { shellWord } from '../../src/platform/shell-word.ts';
import { treeOf } from '../director/manifest-paths.ts';
import { pathsIn } from '../director/path-lists.ts';
import { checkout } from '../support/embedded-environment.ts';

const choice = {
  ...({ layout: 'highly-available', operatingSystem: 'debian-bookworm' } as const),
  ...{ hasOneCell: false, hasVolumeServices: false },
};
/** Our files of the layout, which need none of cf-deployment's. */
const ownFiles = foundryOpsFiles(choice).map(({ path }) => path);
const inFolder = (path: string): string => `cloud-foundry/ops/${basename(path)}`;
const script: FoundryScript = {
  ...{ opsFiles: ownFiles.map(inFolder), dnsOpsFiles: dnsOpsFiles(choice).map(inFolder) },
  ...{ needs: ['vxlan'], hasVolumeServices: false, lacksVarsStore: false },
};
const line = (...words: readonly string[]): string => words.map(shellWord).join(' ');

interface RunOptions {
  readonly changed?: Partial<FoundryScript>;
  readonly doctorResult?: number;
  /** The version of the folder cf-deployment. Undefined: a killed clone left a part of it. */
  readonly version?: string | undefined;
  /** Further shell commands of the program git. */
  readonly git?: string;
  readonly files?: Readonly<Record<string, string>>;
}

interface RunResult {
  readonly folder: string;
  readonly exitCode: number | null;
  readonly stderr: string;
  readonly calls: string;
}

/** Runs the commands in a folder, with programs that write down how they are called. */
async function run(
  t: TestContext,
  { changed, doctorResult = 0, git = '', files = {}, ...options }: RunOptions,
): Promise<RunResult> {
  const { version } = { version: 'v58.0.0', ...options };
  const folder = await scratchDirectory(t);
  const calls = join(folder, 'calls');
  for (const path of ownFiles) {
    await mkdir(dirname(join(folder, inFolder(path))), { recursive: true });
    await copyFile(join(checkout, path), join(folder, inFolder(path)));
  }
  const clone = version === undefined ? 'cf-deployment.partial' : 'cf-deployment';
  await mkdir(join(folder, clone));
  const paths = pathsIn(new URL('paths/', import.meta.url), 'cf-deployment');
  const manifest = { ...(treeOf(paths) as object), manifest_version: version ?? 'v58.0.0' };
  const upstream = version === undefined ? 'upstream.yml' : 'cf-deployment/cf-deployment.yml';
  await writeFile(join(folder, upstream), stringify(manifest));
  for (const [path, text] of Object.entries(files)) await writeFile(join(folder, path), text);
  await writeFile(join(folder, 'cloud-foundry/vars.yml'), '{}\n');
  const programs = {
    bosh: `echo "bosh $*" >> ${calls}`,
    git: `echo "git $*" >> ${calls}\n${git}`,
    node: `[ "$2" != doctor ] || { echo "doctor" >> ${calls}; exit ${doctorResult}; }; exec ${process.execPath} "$@"`,
  };
  for (const [name, text] of Object.entries(programs)) {
    await writeFile(join(folder, name), `#!/bin/sh\n${text}\n`);
    await chmod(join(folder, name), 0o755);
  }
  const place = { root: checkout, context: undefined, namespace: 'bosh', stemcell: 'stemcell.tgz' };
  const commands = foundryCommands({ ...script, ...changed }, place, line);
  await writeFile(join(folder, 'commands.sh'), `set -euo pipefail\n${commands.join('\n')}\n`);
  const env = { ...process.env, PATH: `${folder}:${process.env['PATH']}` };
  const { status, stderr } = spawnSync('bash', ['commands.sh'], { cwd: folder, env, encoding: 'utf8' });
  return { folder, exitCode: status, stderr, calls: await readFile(calls, 'utf8') };
}

test('the commands end with the deployment, and what refuses comes before any call of the director', async (t) => {
  const { exitCode, calls, stderr } = await run(t, {});
  assert.equal(exitCode, 0, stderr);
  assert.deepEqual(
    calls.split('\n').map((call) => call.split(' -', 1)[0]),
    ['doctor', 'git', 'git', 'bosh upload-stemcell', 'bosh', 'bosh', 'bosh', ''],
  );
  assert.match(calls, /^bosh -n -d cf deploy .* --vars-store cf-vars\.yml$/mu);
});

test('nodes that a cell cannot use end the commands before anything is deployed', async (t) => {
  const { exitCode, calls } = await run(t, { doctorResult: 1 });
  assert.deepEqual([exitCode, calls], [1, 'doctor\n']);
});

test('an ops file that is applied twice, or in a wrong order, ends them with its sentence', async (t) => {
  const [sizes, oneCell] = [
    'cloud-foundry/ops/sizes.yml',
    join(checkout, 'manifests/cf-deployment/one-cell.yml'),
  ];
  for (const [opsFiles, sentence] of [
    [[...script.opsFiles, sizes], 'sizes.yml is applied twice'],
    [[oneCell, ...script.opsFiles], 'one-cell.yml belongs after debian-bookworm.yml'],
  ] as const) {
    const { exitCode, calls, stderr } = await run(t, { changed: { opsFiles } });
    assert.equal(exitCode, 1);
    assert.ok(stderr.includes(sentence), stderr);
    assert.equal(calls, 'doctor\n');
  }
});

const cloneUpstream =
  'case $1 in clone) for to; do :; done; mkdir $to && cp upstream.yml $to/cf-deployment.yml;; esac';

test('a clone that was killed is made again, and one that fails leaves no folder cf-deployment', async (t) => {
  const made = await run(t, { version: undefined, git: cloneUpstream });
  assert.equal(made.exitCode, 0, made.stderr);
  assert.deepEqual(
    (await readdir(made.folder)).filter((name) => name.startsWith('cf-deployment')),
    ['cf-deployment'],
  );

  const failed = await run(t, {
    version: undefined,
    git: 'case $1 in clone) mkdir cf-deployment.partial; exit 128;; esac',
  });
  assert.equal(failed.exitCode, 128, failed.stderr);
  assert.ok(!(await readdir(failed.folder)).includes('cf-deployment'));
});

test('another version of cf-deployment ends the commands with the sentence that says what to do', async (t) => {
  const { exitCode, calls, stderr } = await run(t, { version: 'v57.4.0' });
  assert.equal(exitCode, 1);
  assert.match(stderr, /The folder cf-deployment is not v58\.0\.0: move it away, and run this again/u);
  assert.equal(calls, 'doctor\n');
});

test('the commit of bosh-deployment is fetched if its clone does not have it', async (t) => {
  const { exitCode, calls } = await run(t, {
    git: 'case $3 in cat-file) exit 1;; show) echo "releases: []";; esac',
  });
  assert.equal(exitCode, 0);
  const gits = calls.split('\n').flatMap((call) => /^git -C bosh-deployment (\S+)/u.exec(call)?.[1] ?? []);
  assert.deepEqual(gits, ['cat-file', 'fetch', 'show']);
});

test('a deployed Cloud Foundry without its vars store ends the commands before all others', async (t) => {
  const changed = { lacksVarsStore: true };
  const { exitCode, calls, stderr } = await run(t, { changed, files: { calls: '' } });
  assert.deepEqual([exitCode, calls], [1, '']);
  assert.match(stderr, /cf-vars\.yml is missing: copy cf-vars\.yml and cf-dns\.yml of its deployment/u);
  assert.equal((await run(t, { changed, files: { 'cf-vars.yml': 'a: b\n' } })).exitCode, 0);
});

test('docs/cloud-foundry.md has the commands of the smallest layout', async () => {
  const page = (await readFile(join(checkout, 'docs/cloud-foundry.md'), 'utf8')).replaceAll(
    / *\\\n */gu,
    ' ',
  );
  const smallest = { ...choice, layout: 'smallest' } as const;
  const opsFiles = foundryOpsFiles(smallest).map(({ path, isOurs }) =>
    isOurs ? inFolder(path) : `cf-deployment/operations/${path}`,
  );
  const place = { root: '.', context: undefined, namespace: 'bosh', stemcell: 'cf-stemcell/stemcell.tgz' };
  const commands = foundryCommands({ ...script, opsFiles }, place, line);
  // The page takes the command from PATH.
  const onPage = commands.map((command) =>
    command.replace(/^node bin\/bosh-kubernetes\.mjs /u, 'bosh-kubernetes '),
  );
  const block = onPage.map((command) => `    ${command}\n`).join('');
  assert.ok(page.includes(block), `the page has not:\n${block}`);
});
