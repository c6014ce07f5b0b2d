import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { appendFile, chmod, cp, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import product from '../package.json' with { type: 'json' };
import { packRelease } from '../src/bosh/release/pack-release.ts';
import { embeddedAgentProperties } from '../src/bosh/stemcell/stemcell.ts';
import { packLightStemcell } from '../src/bosh/stemcell/pack-light-stemcell.ts';
import { rubyDirectory } from '../src/bosh/template/ruby-command.ts';
import { mainModulePath } from '../src/cli/installation.ts';
import { besideCluster, builtCluster } from '../embedded-cluster/daemon/cluster-state.ts';
import { hostRootImage } from '../embedded-cluster/node/node-object.ts';
import { allEnded } from './all-ended.ts';
import { besideSources } from './beside-sources.ts';
import { type CpiArtefacts, buildCpi } from './build-cpi.ts';
import { bundleForNode } from './bundle-for-node.ts';
import { linkOrCopy } from './link-or-copy.ts';
import { requireHttp } from './require-http.ts';
import { stageCpiRelease } from './stage-cpi-release.ts';
import { runtimes, writeNotices } from './write-notices.ts';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, 'dist');
const asModules = {
  format: 'esm',
  // a dependency in CommonJS requires Node's own modules
  banner: {
    js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
  },
} as const;

// esbuild is written in Go, whose default garbage collection is more frequent than a short build needs
process.env['GOGC'] ??= '400';
// users of a VM must be able to read the output, whatever the umask of the shell
process.umask(0o022);

/**
 * Builds everything that leaves the repository, into `dist/`. A second run makes the same bytes. `beside` are
 * arguments for `bosh-kubernetes`, which runs with them as soon as it is built, during the rest of the build;
 * without arguments it does not run.
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
    buildRuby(rubyDirectory(root)),
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

/**
 * Runs the command early. Its errors are ignored: the command for which this build runs has the same errors
 * later and reports them.
 */
async function runBeside(args: readonly string[]): Promise<void> {
  if (args.length === 0) return;
  const child = spawn(process.execPath, [mainModulePath(root), ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const stderr = text(child.stderr);
  const [code] = (await once(child, 'close')) as [number | null];
  if (code === 0) process.stderr.write(await stderr);
}

/** Removes the temporary files of a killed build. Only one build runs at a time (ensure-built.mjs). */
async function removeScratch(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  for (const name of await readdir(directory)) {
    if (name.startsWith('.build-')) await rm(join(directory, name), { recursive: true });
  }
}

async function packCpiRelease(artefacts: CpiArtefacts): Promise<void> {
  const staging = join(dist, 'release');
  await stageCpiRelease(artefacts, staging);
  // the release stays on this machine, and compressing 100 MB would take longer than the rest of the build
  await appendFile(join(staging, 'packages', 'bosh_kubernetes_cpi', 'spec'), 'no_compression: true\n');
  await packWithContentVersion(staging, join(dist, 'bosh-kubernetes-release.tgz'));
}

async function packExample(name: string): Promise<void> {
  await packWithContentVersion(join(root, 'examples', name, 'release'), join(dist, `${name}-release.tgz`));
}

/**
 * Packs a release whose version depends on its content, so that a deployer recognizes a changed release
 * without manual version numbers.
 */
async function packWithContentVersion(directory: string, outFile: string): Promise<void> {
  const contentOf = (fingerprints: readonly string[]): string =>
    createHash('sha256').update(fingerprints.join()).digest('hex').slice(0, 12);
  await packRelease({
    directory,
    version: (fingerprints) => `${product.version}+build.${contentOf(fingerprints)}`,
    outFile,
  });
}

/**
 * Builds the content of /opt/bosh-kubernetes in the VMs of the embedded cluster: Node, and the agent in one
 * file. A running cluster has this folder bound into its VMs, so the folder itself stays, and its files are
 * replaced atomically.
 */
async function buildRuntime(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  // an earlier build may have created it with another umask
  await chmod(directory, 0o755);
  await bundleForNode(join(root, 'src', 'agent', 'main.ts'), join(directory, 'agent.cjs'), { minify: true });
  await linkInto(process.execPath, join(directory, 'node'));
}

/**
 * Bundles the embedded cluster into one file, and the program that runs before it into another, with the
 * scripts that both need beside them: loading the sources would take longer than starting a cluster.
 */
async function buildCluster(main: string): Promise<void> {
  const sources = join(root, 'embedded-cluster', 'node', 'runtime');
  const directory = dirname(main);
  await mkdir(directory, { recursive: true });
  for (const name of (await readdir(sources)).filter((path) => path.endsWith('.sh'))) {
    await cp(join(sources, name), join(directory, `${name}.partial`));
    await rename(join(directory, `${name}.partial`), join(directory, name));
  }
  const options = { ...asModules, plugins: [requireHttp] };
  const prepare = join(root, 'embedded-cluster', 'node', 'prepare-host-main.ts');
  await bundleForNode(prepare, besideCluster(main), options);
  await bundleForNode(join(root, 'embedded-cluster', 'main.ts'), main, options);
}

/**
 * Bundles the command line: a short command takes a third of the time that it takes from the sources, which
 * are hundreds of files.
 */
async function buildCommandLine(main: string): Promise<void> {
  await mkdir(dirname(main), { recursive: true });
  await bundleForNode(join(root, 'src', 'cli', 'main.ts'), main, {
    ...asModules,
    plugins: [besideSources(root, main), requireHttp],
  });
}

/**
 * Bundles each volume service into one file: Cloud Foundry can run the broker as an app, and cells the
 * driver. The cell starts another program in an app's namespaces.
 */
async function buildVolumeServices(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  const packages: string[] = [];
  for (const [name, file] of [
    ['broker', 'main.ts'],
    ['driver', 'main.ts'],
    ['k8s-binding', 'cli.ts'],
    ['cell', 'cli.ts'],
    ['demo', 'cli.ts'],
    ['cell/namespace-init', 'main.ts'],
  ] as const) {
    const outFile = join(directory, `${basename(name)}.mjs`);
    // the others leave the checkout
    const plugins = name === 'cell' || name === 'demo' ? [besideSources(root, outFile)] : [];
    const main = join(root, 'src', 'volumes', name, file);
    packages.push(...(await bundleForNode(main, outFile, { ...asModules, plugins })));
  }
  // the release of these services includes Node
  await writeNotices(directory, [...packages, runtimes.node]);
}

/**
 * Bundles the program that runs Ruby as WebAssembly, beside the one file of Ruby that it needs. Templates can
 * read this folder.
 */
async function buildRuby(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  const main = join(root, 'src', 'bosh', 'template', 'ruby-wasm.ts');
  await bundleForNode(main, join(directory, 'ruby-wasm.mjs'), asModules);
  const name = 'ruby+stdlib.wasm';
  await linkInto(join(root, 'node_modules', '@ruby', '3.4-wasm-wasi', 'dist', name), join(directory, name));
}

/** Replaces a file by a link to another file, or by a copy of it. */
async function linkInto(from: string, path: string): Promise<void> {
  const partial = `${path}.partial`;
  await rm(partial, { force: true });
  await linkOrCopy(from, partial);
  // rename(2) of one link of a file onto another link of the same file does nothing, so the first link
  // remains.
  await rename(partial, path);
  await rm(partial, { force: true });
}

await buildAll(process.argv.slice(2));
