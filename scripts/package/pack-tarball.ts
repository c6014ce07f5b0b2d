import { globSync } from 'node:fs';
import { mkdir, rm, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import product from '../../package.json' with { type: 'json' };
import { compareBytes, packArchive, type ArchiveEntry } from '../../src/bosh/archive/pack-archive.ts';
import { buildAgent } from '../build-agent.ts';
import { packagesOf } from '../bundle-for-node.ts';
import { runtimes, writeNotices } from '../write-notices.ts';

const root = join(import.meta.dirname, '..', '..');

/** The files of the repository and of the last build that the tarball contains, at the same paths. */
const contents = [
  '{LICENSE,README.md,CHANGELOG.md,CONTRIBUTING.md,SECURITY.md}',
  'bin/run-main.mjs',
  'scripts/fail.mjs',
  '{docs,examples,manifests,release}/**',
  'embedded-cluster/README.md',
  // What the bundles read beside their sources (scripts/beside-sources.ts).
  'embedded-cluster/daemon/*.sh',
  'src/bosh/template/*.{rb,sh}',
  'src/stemcell/**/*.sh',
  'src/stemcell/root/**',
  // Node is a dependency, and the CPI is in its release.
  'dist/{agent,cli,cluster,ruby,volumes}/*',
  'dist/runtime/agent.cjs',
  'dist/{bosh-kubernetes-release,embedded-stemcell,hello-release}.tgz',
];

/**
 * Tests, credentials of blobstores, and what tests, `create-release` and `npm start` leave in these folders.
 */
const excluded = [
  '**/*.test.ts',
  '**/config/private.yml',
  'examples/**/{dev_releases,releases,final_blobs}/**',
  'examples/**/*-{state.json*,creds.yml}',
  'release/{LICENSE,NOTICE}',
  'release/{src,.dev_builds,dev_releases,final_blobs,.final_builds,releases}/**',
];

/** The programs of the tarball, whose packages its NOTICE names. */
export const programs = [
  'src/agent/main.ts',
  'src/bosh/template/ruby-wasm.ts',
  'src/cli/main.ts',
  'src/cpi/main.ts',
  'embedded-cluster/main.ts',
  'embedded-cluster/node/prepare-host-main.ts',
  ...['broker/main.ts', 'driver/main.ts', 'k8s-binding/cli.ts', 'cell/cli.ts', 'demo/cli.ts'].map(
    (path) => `src/volumes/${path}`,
  ),
];

export interface TarballOptions {
  readonly outDirectory: string;
  /** The version in the tarball's package.json. */
  readonly version: string;
}

/**
 * Packs the npm package from the last build (dist/), with the agent as one executable: everything that the
 * commands need except Node, which is its only dependency. The same commit gives the same bytes on the same
 * machine. Returns the path of the tarball.
 */
export async function packTarball({ outDirectory, version }: TarballOptions): Promise<string> {
  await buildAgent(join(root, 'dist', 'agent', 'bosh-agent'));
  await mkdir(outDirectory, { recursive: true });
  const scratch = join(outDirectory, '.notices');
  await writeNotices(scratch, await packagesOfAll());
  const outFile = join(outDirectory, `${product.name}-${version}.tgz`);
  const entries = [
    ...(await Promise.all(packagedFiles(root).map((path) => fileEntry(path)))),
    await fileEntry(join(root, 'bin', 'installed.mjs'), product.bin['bosh-kubernetes']),
    await fileEntry(join(scratch, 'NOTICE'), 'NOTICE'),
    descriptionEntry(version),
  ];
  await packArchive(
    entries.toSorted((one, other) => compareBytes(one.name, other.name)),
    outFile,
  );
  await rm(scratch, { recursive: true });
  return outFile;
}

/**
 * Returns the absolute paths of the files in `directory`, a checkout, that the tarball contains unchanged.
 */
export function packagedFiles(directory: string): readonly string[] {
  const paths = globSync(contents, { cwd: directory, exclude: excluded, withFileTypes: true });
  return paths.filter((path) => path.isFile()).map(({ parentPath, name }) => join(parentPath, name));
}

async function packagesOfAll(): Promise<readonly string[]> {
  const packages = await Promise.all(programs.map((path) => packagesOf(join(root, path))));
  return [...packages.flat(), '@ruby/3.4-wasm-wasi', ...(process.arch === 'x64' ? [runtimes.bun] : [])];
}

/** Returns the entry of a file. Its mode does not depend on the umask of the shell. */
async function fileEntry(path: string, name = relative(root, path)): Promise<ArchiveEntry> {
  const { size, mode } = await stat(path);
  return { kind: 'file', name: `package/${name}`, mode: (mode & 0o100) === 0 ? 0o644 : 0o755, path, size };
}

/**
 * Returns the package.json of the tarball: the repository's, without what only a checkout needs. The bundles
 * contain all dependencies except the pinned Node, which npm installs for its own platform.
 */
function descriptionEntry(version: string): ArchiveEntry {
  const { name, private: isPrivate, description, license, bin, type, engines } = product;
  const nodes = Object.entries(product.optionalDependencies).filter(([each]) => each.startsWith('node-'));
  const content = {
    ...{ name, version, private: isPrivate, description, license, bin, type },
    optionalDependencies: Object.fromEntries(nodes),
    engines,
  };
  const text = `${JSON.stringify(content, undefined, 2)}\n`;
  return { kind: 'content', name: 'package/package.json', mode: 0o644, content: text };
}
