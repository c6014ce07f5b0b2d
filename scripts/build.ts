import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { appendFile, chmod, cp, link, mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { packRelease } from '../src/bosh/release/pack-release.ts';
import { embeddedAgentProperties } from '../src/bosh/stemcell/embedded-agent.ts';
import { packLightStemcell } from '../src/bosh/stemcell/pack-light-stemcell.ts';
import { mainModulePath } from '../src/cli/built-command-line.ts';
import { besideCluster, builtCluster } from '../src/cluster/daemon/built-cluster.ts';
import { hostRootImage } from '../src/cluster/node/image/host-root-image.ts';
import { allEnded } from './all-ended.ts';
import { besideSources } from './beside-sources.ts';
import type { CpiArtefacts } from './build-cpi.ts';
import { buildCpi } from './build-cpi.ts';
import { bundleForNode } from './bundle-for-node.ts';
import { requireHttp } from './require-http.ts';
import { runtimes, writeNotices } from './write-notices.ts';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, 'dist');
const asModules = {
  format: 'esm',
  // a dependency in CommonJS asks for Node's own modules
  banner: {
    js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
  },
} as const;

// esbuild is written in Go, which collects garbage more often than a short build needs
process.env['GOGC'] ??= '400';
// users of a VM read what is built, whatever the umask of the shell
process.umask(0o022);

/**
 * Everything that leaves the repository, into `dist/`. Run again it makes the same bytes. `beside` are words
 * for `bosh-kubernetes`, which runs with them as soon as it is built, while the rest is; none: it does not.
 */
async function buildAll(beside: readonly string[]): Promise<void> {
  await mkdir(dist, { recursive: true });
  await removeScratch(join(dist, 'cpi'));
  await allEnded([
    buildCpi({ outDirectory: join(dist, 'cpi') }).then(packCpiRelease),
    allEnded([
      buildRuntime(join(dist, 'runtime')),
      buildCluster(builtCluster(root)),
      buildCommandLine(mainModulePath(root)),
    ]).then(() => runBeside(beside)),
    buildVolumeServices(join(dist, 'volumes')),
    packExample('hello'),
    packLightStemcell(
      {
        name: 'embedded-host-root',
        version: '1',
        operatingSystem: 'host-root',
        imageReference: hostRootImage,
        cloudProperties: embeddedAgentProperties,
      },
      join(dist, 'embedded-stemcell.tgz'),
    ),
  ]);
}

/** What it cannot do the command that the build is for meets again, and says. */
async function runBeside(words: readonly string[]): Promise<void> {
  if (words.length === 0) return;
  const child = spawn(process.execPath, [mainModulePath(root), ...words], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const said = text(child.stderr);
  const [code] = (await once(child, 'close')) as [number | null];
  if (code === 0) process.stderr.write(await said);
}

/** What a build that was killed left; builds run one at a time (ensure-built.mjs). */
async function removeScratch(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  for (const name of await readdir(directory)) {
    if (name.startsWith('.build-')) await rm(join(directory, name), { recursive: true });
  }
}

/** The release directory with the CPI's artefacts among its sources, packed. */
async function packCpiRelease({ bundle, executable }: CpiArtefacts): Promise<void> {
  const staging = join(dist, 'release');
  await rm(staging, { recursive: true, force: true });
  for (const name of ['config', 'jobs', 'packages'])
    await cp(join(root, 'release', name), join(staging, name), { recursive: true });
  const sources = join(staging, 'src', 'bosh_kubernetes_cpi');
  await mkdir(sources, { recursive: true });
  for (const file of [bundle, executable]) {
    if (file !== undefined) await linkOrCopy(file, join(sources, basename(file)));
  }
  for (const name of ['LICENSE', 'NOTICE']) await cp(join(dirname(bundle), name), join(staging, name));
  // it stays on this machine, where packing 100 MB takes longer than all else of the build
  await appendFile(join(staging, 'packages', 'bosh_kubernetes_cpi', 'spec'), 'no_compression: true\n');
  await packWithContentVersion(staging, join(dist, 'bosh-kubernetes-release.tgz'));
}

async function packExample(name: string): Promise<void> {
  await packWithContentVersion(join(root, 'examples', name, 'release'), join(dist, `${name}-release.tgz`));
}

/** The version tells the content, so that a deployer sees a changed release without anybody counting. */
async function packWithContentVersion(directory: string, outFile: string): Promise<void> {
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
  const contentOf = (fingerprints: readonly string[]): string =>
    createHash('sha256').update(fingerprints.join()).digest('hex').slice(0, 12);
  await packRelease({
    directory,
    version: (fingerprints) => `${version}+build.${contentOf(fingerprints)}`,
    outFile,
  });
}

/**
 * What the VMs of the embedded cluster find in /opt/bosh-kubernetes: Node and the agent in one file. A
 * running cluster has this folder bound into its VMs, so it stays the same folder and its files are replaced
 * whole.
 */
async function buildRuntime(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  // of an earlier build, perhaps with another umask
  await chmod(directory, 0o755);
  await bundleForNode(join(root, 'src', 'agent', 'main.ts'), join(directory, 'agent.cjs'), { minify: true });
  await placeNode(join(directory, 'node'));
}

/**
 * The embedded cluster in one file, and what comes before it in another, since its sources take longer to
 * load than a cluster to start, with the scripts that both find beside themselves.
 */
async function buildCluster(main: string): Promise<void> {
  const sources = join(root, 'src', 'cluster', 'node', 'runtime');
  const directory = dirname(main);
  await mkdir(directory, { recursive: true });
  for (const name of (await readdir(sources)).filter((path) => path.endsWith('.sh'))) {
    await cp(join(sources, name), join(directory, `${name}.partial`));
    await rename(join(directory, `${name}.partial`), join(directory, name));
  }
  const options = { ...asModules, plugins: [requireHttp] };
  const prepare = join(root, 'src', 'cluster', 'prepare', 'main.ts');
  await bundleForNode(prepare, besideCluster(main), options);
  await bundleForNode(join(root, 'src', 'cluster', 'main.ts'), main, options);
}

/** A short command takes a third of what it takes from its sources, hundreds of files. */
async function buildCommandLine(main: string): Promise<void> {
  await mkdir(dirname(main), { recursive: true });
  await bundleForNode(join(root, 'src', 'cli', 'main.ts'), main, {
    ...asModules,
    plugins: [besideSources(join(root, 'src'), main), requireHttp],
  });
}

/**
 * Each in one file of its own: Cloud Foundry can run the broker as an app, and cells the driver. The cell
 * starts a source of its own in an app's namespaces.
 */
async function buildVolumeServices(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  const packages: string[] = [];
  for (const name of ['broker', 'driver', 'k8s-binding']) {
    const main = join(root, 'src', 'volumes', name, 'main.ts');
    packages.push(...(await bundleForNode(main, join(directory, `${name}.mjs`), asModules)));
  }
  for (const name of ['cell', 'demo']) {
    const outFile = join(directory, `${name}.mjs`);
    const plugins = [besideSources(join(root, 'src'), outFile)];
    packages.push(
      ...(await bundleForNode(join(root, 'src', 'volumes', name, 'main.ts'), outFile, {
        ...asModules,
        plugins,
      })),
    );
  }
  // their release brings Node
  await writeNotices(directory, [...packages, runtimes.node]);
}

async function placeNode(path: string): Promise<void> {
  const partial = `${path}.partial`;
  await rm(partial, { force: true });
  await linkOrCopy(process.execPath, partial);
  // Renaming one link of a file onto another does nothing, and leaves the first.
  await rename(partial, path);
  await rm(partial, { force: true });
}

async function linkOrCopy(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
    await cp(from, to);
  }
}

await buildAll(process.argv.slice(2));
