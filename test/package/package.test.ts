import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import product from '../../package.json' with { type: 'json' };
import { packTarball } from '../../scripts/package/pack-tarball.ts';
import { strangersPath } from '../line/checkout.ts';
import { deployOutput, readmeScreens, shapeOf, withoutNpm } from '../line/readme-screens.ts';
import { processesOf } from '../support/machine.ts';
import { run, runWell, type Ran } from '../support/run.ts';

const root = join(import.meta.dirname, '..', '..');
const nodePackage = `node-linux-${process.arch}`;
const nodeVersion = Object.entries(product.optionalDependencies).find(([name]) => name === nodePackage)?.[1];
const skip = await whyNoRegistry();

/** npm leaves an optional package out, without an error, if it cannot get it. */
async function whyNoRegistry(): Promise<string | false> {
  const view = [
    'npm',
    'view',
    '--prefer-offline',
    '--fetch-retries=0',
    `${nodePackage}@${nodeVersion}`,
    'version',
  ];
  const { exitCode, stderr } = await run(view);
  return exitCode !== 0 && `needs a registry with ${nodePackage}: ${stderr.trim().split('\n')[0]}`;
}

describe('the npm package, in an empty directory with an empty HOME', { skip }, () => {
  let top: string;
  let project: string;
  let env: NodeJS.ProcessEnv;
  let tarball: string;
  let disk = 'disk-[0-9a-f-]+';
  /** What the disk keeps: the time of its first use. */
  let since: string | undefined;

  const npm = (...args: string[]): Promise<string> =>
    runWell(['npm', ...args, '--no-audit', '--no-fund'], { cwd: project, env });
  const ours = (args: readonly string[], cwd = project): Promise<Ran> =>
    run([join(project, 'node_modules', '.bin', 'bosh-kubernetes'), ...args], { cwd, env });

  /**
   * Runs `up` and returns its output. The last line is the URL of a page that tells since when the disk
   * is used.
   */
  async function up(program = ours): Promise<Ran> {
    const ran = await program(['up']);
    const { exitCode, stdout, stderr } = ran;
    assert.equal(exitCode, 0, stdout + stderr);
    assert.match(stdout, new RegExp(`^hello/0 +running +127\\.64\\.0\\.10 +${disk}$`, 'm'));
    await assertSameDisk(stdout.trimEnd().split('\n').at(-1));
    return ran;
  }

  async function assertSameDisk(url = 'http://127.64.0.10:8080/'): Promise<void> {
    const text = await (await fetch(url, { headers: { connection: 'close' } })).text();
    const [found] = /kept on a persistent disk since .+/u.exec(text) ?? assert.fail(text);
    assert.equal(found, (since ??= found));
  }

  before(async () => {
    top = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-package-'));
    project = join(top, 'project');
    await mkdir(project);
    await mkdir(join(top, 'home'));
    const [cache, userconfig] = (await runWell(['npm', 'config', 'get', 'cache', 'userconfig']))
      .trim()
      .split('\n');
    env = {
      PATH: strangersPath(),
      HOME: join(top, 'home'),
      LANG: 'C.UTF-8',
      // The machine's registry and its cache.
      npm_config_cache: cache?.replace(/^cache=/u, ''),
      npm_config_userconfig: userconfig?.replace(/^userconfig=/u, ''),
      npm_config_prefer_offline: 'true',
      npm_config_update_notifier: 'false',
    };
    tarball = await packTarball({ outDirectory: top, version: product.version });
  });

  after(async () => {
    await ours(['stop']);
    assert.deepEqual(await processesOf(top), []);
    await rm(top, { recursive: true, force: true });
  });

  /** npm options of a machine without a network, on which npm was never used. */
  const offline = (): string[] => ['--offline', '--cache', join(top, 'empty-cache')];

  test('two files install the package without a registry', async () => {
    const [node = ''] = (await runWell(['npm', 'pack', `${nodePackage}@${nodeVersion}`], { cwd: top, env }))
      .trim()
      .split('\n')
      .slice(-1);
    await npm('install', ...offline(), '--omit=optional', tarball, join(top, node));

    const npx = ['npx', ...offline(), 'bosh-kubernetes', 'version'];
    assert.equal(await runWell(npx, { cwd: project, env }), `${product.version}\n`);
    await rm(project, { recursive: true });
    await mkdir(project);
  });

  test('if npm did not reach its registry, the command says so and names both next steps', async () => {
    assert.match(await npm('install', ...offline(), tarball), /^added 1 package/mu);
    const { exitCode, stdout, stderr } = await ours(['up']);

    assert.deepEqual([exitCode, stdout], [1, '']);
    const [, page = ''] =
      new RegExp(
        `^bosh-kubernetes: the package ${nodePackage} ${nodeVersion} is missing, .* if it does not reach its registry, ` +
          ".*'npm install --include=optional'.* 'Without a network' in (/.+)$",
        'mu',
      ).exec(stderr) ?? assert.fail(stderr);
    assert.match(await readFile(page, 'utf8'), /^## Without a network$/mu);
    await npm('install', '--include=optional');
    assert.deepEqual((await readdir(join(project, 'node_modules'))).toSorted(), [
      '.bin',
      '.package-lock.json',
      'bosh-kubernetes',
      nodePackage,
    ]);
  });

  test('the help names a page that exists in the package', async () => {
    const { stdout } = await ours(['up', '--help']);
    const [, page = ''] = /^More: (.+)$/mu.exec(stdout) ?? assert.fail(stdout);
    assert.match(await readFile(page, 'utf8'), /^# /u);
  });

  test('up writes the example into ./hello, deploys it and prints its URL', async () => {
    const ran = await up((args) => run(['npx', 'bosh-kubernetes', ...args], { cwd: project, env }));

    const shown = await readmeScreens(root);
    assert.equal(shapeOf(withoutNpm(ran.stderr)), shapeOf(shown.messages), 'README.md shows other messages');
    assert.equal(shapeOf(deployOutput(ran.stdout)), shapeOf(shown.output), 'README.md shows another output');

    const state = JSON.parse(await readFile(join(project, 'hello', 'manifest-state.json'), 'utf8')) as {
      disks: [{ cid: string }];
    };
    disk = state.disks[0].cid;
    assert.deepEqual(await readdir(join(top, 'home')), []);
    const completed = await ours(['__complete', 'bash', 'ssh', 'hello/']);
    assert.match(completed.stdout, /^paths\nhello\/manifest\.yml\tVM \S+, disk \S+\n$/u);
    assert.equal(completed.stderr, '');
    assert.deepEqual((await readdir(project)).toSorted(), [
      '.bosh-kubernetes',
      'hello',
      'node_modules',
      'package-lock.json',
      'package.json',
    ]);
  });

  test('npm ci leaves the running cluster alone, and the next up finds it unchanged', async () => {
    await npm('ci');

    await assertSameDisk();
    assert.match((await up()).stdout, /No deployment, stemcell or release changes\. Skipping deploy\./);
  });

  test('up of another version keeps the edited manifest, updates the VM and finds the disk', async () => {
    const manifest = join(project, 'hello', 'manifest.yml');
    const edited = (await readFile(manifest, 'utf8')).replace('audience: operators', 'audience: everyone');
    await writeFile(manifest, edited);
    await npm('install', await otherVersion(tarball, top));

    const { stdout, stderr } = await up();
    const output = stdout + stderr;

    assert.match(output, /^  Updating instance 'hello\/0'\.\.\. Finished/m);
    assert.match(
      output,
      /^The cluster still runs bosh-kubernetes .+; it runs 99\.0\.0 after 'stop' and 'up'$/m,
    );
    assert.equal(await readFile(manifest, 'utf8'), edited);
    const text = await (await fetch('http://127.64.0.10:8080/')).text();
    assert.match(text, /^For everyone, kept on a persistent disk/mu);
  });

  test('a cluster of a newer version is left alone', async () => {
    const record = join(project, '.bosh-kubernetes', 'programs', 'package.json');
    const text = await readFile(record, 'utf8');
    await writeFile(record, text.replace(/"version":"[^"]+"/u, '"version":"999.0.0"'));

    const { exitCode, stderr } = await ours(['up']);

    assert.equal(exitCode, 1);
    assert.match(
      stderr,
      /was last started by bosh-kubernetes 999\.0\.0, and this is .+ Install bosh-kubernetes 999\.0\.0 or newer/,
    );
    await assertSameDisk();
    await writeFile(record, text);
  });

  test('in another directory, stop and up say where the cluster is, and create none', async () => {
    const below = join(project, 'hello');
    const stopped = await ours(['stop'], below);
    const { stderr } = await ours(['up', 'manifest.yml'], below);

    assert.ok(stopped.stdout.includes(`run this in '${project}', which has one`), stopped.stdout);
    assert.match(stderr, /\[OTHER_CLUSTER\]/);
    assert.deepEqual(
      (await readdir(below)).filter((name) => !name.startsWith('manifest')),
      [],
    );
  });

  test('the release of the CPI is copied out of the package', async () => {
    const { exitCode, stdout, stderr } = await ours(['release', 'build', '--tarball', 'cpi.tgz']);

    assert.equal(exitCode, 0, stderr);
    assert.match(stdout, /^kubernetes_cpi_release_url: "file:.*\/cpi\.tgz"$/m);
    assert.match((await ours(['release', 'build', '--final'])).stderr, /need a checkout of the repository/);
  });

  test('destroy removes the cluster and its disks, and leaves the manifest', async () => {
    const { exitCode, stdout, stderr } = await ours(['destroy', '--force']);

    assert.deepEqual([exitCode, stdout], [0, 'Destroyed.\n'], stderr);
    assert.deepEqual(await readdir(join(project, 'hello')), ['manifest.yml']);
    assert.deepEqual(await readdir(join(project, '.bosh-kubernetes')), []);
    assert.deepEqual(await processesOf(top), []);
  });
});

/**
 * Returns the path of a tarball with the same programs and another version. It lacks the agent of stemcells,
 * which no deployment on the embedded cluster needs, because npm takes long to unpack it.
 */
async function otherVersion(tarball: string, top: string): Promise<string> {
  const directory = join(top, 'package');
  await runWell(['tar', '-xzf', tarball, '-C', top]);
  for (const path of ['package.json', 'dist/cli/main.mjs']) {
    const text = await readFile(join(directory, path), 'utf8');
    await writeFile(join(directory, path), text.replaceAll(`"${product.version}"`, '"99.0.0"'));
  }
  await rm(join(directory, 'dist', 'agent'), { recursive: true });
  const path = join(top, 'bosh-kubernetes-99.0.0.tgz');
  await runWell(['tar', '-C', top, '-I', 'gzip -1', '-cf', path, 'package']);
  await rm(directory, { recursive: true });
  return path;
}
