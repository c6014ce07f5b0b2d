import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import {
  createRelease as create,
  packReleaseManifest,
  type CreatedRelease,
} from '../../bosh/release/create-release.ts';
import product from '../../../package.json' with { type: 'json' };
import { archivePathOf } from '../../bosh/release/archive-path.ts';
import { openRelease } from '../../bosh/release/open-release.ts';
import { readReleaseManifest, type ReleaseManifest } from '../../bosh/release/release-manifest.ts';
import { removeTree } from '../../platform/remove-tree.ts';
import { expandHome, invalidArguments } from '../args/parse-command-line.ts';
import {
  parseReleaseArguments,
  releaseFlags,
  releasePorts,
  type ReleaseFlag,
} from '../args/release-arguments.ts';
import { withSubCommands } from '../with-sub-commands.ts';
import { buildCpiRelease, type CpiRelease, type CpiReleaseOptions } from '../build-cpi-release.ts';
import type { Command, CommandContext } from '../command.ts';
import { copyCpiRelease } from '../copy-cpi-release.ts';
import { printRelease } from '../output/release-tables.ts';
import { printBlock, type Terminal } from '../output/terminal.ts';
import { withLiveProgress } from '../output/with-progress.ts';
import { interruptible } from '../interruption.ts';
import { packVolumesRelease } from '../pack-volumes-release.ts';

const packing = 'Packing the release';
const notPacked = {
  result: 'The release was not created, and its version is free',
  next: 'the same command continues with the parts that are packed',
};

const createUsage = '[RELEASE-MANIFEST]';
const createFlags: readonly ReleaseFlag[] = [
  ...(['dir', 'name', 'version', 'timestamp-version', 'final', 'force', 'tarball'] as const),
];

export const createRelease: Command = {
  name: 'create-release',
  usage: createUsage,
  flags: releaseFlags(createFlags),
  example: '--dir my-release --tarball my-release.tgz',
  documentation: 'docs/releases.md',
  summary: 'Pack a release directory, like bosh',
  json: true,
  async run(args, context) {
    const { positionals, ...options } = parseReleaseArguments(args, {
      usage: `create-release ${createUsage}`,
      allowedFlags: createFlags,
    });
    const [manifest, extra] = positionals;
    if (extra !== undefined)
      throw invalidArguments(`create-release ${createUsage}`)('Name one release manifest');
    const { terminal } = context;
    if (manifest !== undefined) {
      const manifestPath = resolve(expandHome(manifest));
      const packed = await withLiveProgress(terminal, packing, () =>
        packReleaseManifest({ ...options, manifestPath }, releasePorts(context)),
      );
      printCreated(terminal, packed);
      return 0;
    }
    const release = await interruptible(
      withLiveProgress(terminal, packing, () => create(options, releasePorts(context))),
      context.signal,
      notPacked,
    );
    terminal.out(
      `Added ${options.final === true ? 'final' : 'dev'} release '${release.name}/${release.version}'\n\n`,
    );
    printCreated(terminal, release);
    return 0;
  },
};

/** Prints the tables of a packed release. */
function printCreated(terminal: Terminal, release: CreatedRelease): void {
  const jobs = release.parts.filter(({ kind }) => kind === 'job');
  const packages = release.parts.filter(({ kind }) => kind === 'package');
  printRelease(terminal, { ...release, jobs, packages });
}

const inspectUsage = 'FILE';

export const inspectLocalRelease: Command = {
  name: 'inspect-local-release',
  usage: inspectUsage,
  flags: releaseFlags([]),
  example: 'my-release.tgz',
  documentation: 'docs/releases.md',
  summary: 'Verify a release archive and show what is in it',
  json: true,
  async run(args, context) {
    const usage = `inspect-local-release ${inspectUsage}`;
    const [path, extra] = parseReleaseArguments(args, { usage, allowedFlags: [] }).positionals;
    if (path === undefined || extra !== undefined) throw invalidArguments(usage)('Name one release archive');
    printManifest(context.terminal, await readManifest(resolve(expandHome(path)), context), path);
    return 0;
  },
};

/** Verifies a release archive and returns its manifest. */
async function readManifest(
  archivePath: string,
  { terminal, signal }: CommandContext,
): Promise<ReleaseManifest> {
  const within = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-inspect-'));
  try {
    const directory = join(within, 'release');
    const work = withLiveProgress(terminal, 'Verifying the release', () =>
      openRelease({ archivePath, directory, within, signal }),
    );
    await interruptible(work, signal, {
      result: 'The release was not verified',
      next: 'run the same command again',
    });
    return await readReleaseManifest(directory);
  } finally {
    await removeTree(within, { within: tmpdir() });
  }
}

function printManifest(
  terminal: Terminal,
  { jobs, packages, ...release }: ReleaseManifest,
  archivePath: string,
): void {
  printRelease(terminal, {
    ...release,
    archivePath,
    jobs: jobs.map(({ packages: references, ...job }) => ({ ...job, references })),
    packages: packages.map(({ dependencies: references, ...one }) => ({ ...one, references })),
  });
}

const buildFlags: readonly ReleaseFlag[] = [
  ...(['version', 'timestamp-version', 'final', 'force', 'tarball', 'url'] as const),
];
const volumesUsage = 'FILE';

/** Commands for the releases of this product: the CPI (docs/director.md) and the volume services. */
export const release = withSubCommands({
  name: 'release',
  summary: 'Make the releases of this product',
  documentation: 'docs/releases.md',
  json: true,
  subCommands: [
    {
      name: 'build',
      usage: '',
      operands: ['other'],
      summary: "Make the CPI's release, and print the variables of manifests/bosh-deployment/cpi.yml",
      flags: releaseFlags(buildFlags),
      example: '--version 1.0.0 --tarball cpi.tgz',
      documentation: 'docs/director.md',
      run: buildRelease,
    },
    {
      name: 'volumes',
      usage: volumesUsage,
      summary: "Make the release of the volume services, in this product's version",
      flags: releaseFlags([]),
      example: 'volume-services.tgz',
      run: buildVolumesRelease,
    },
  ],
});

async function buildRelease(args: readonly string[], context: CommandContext): Promise<number> {
  const usage = 'release build';
  const {
    positionals,
    directory: _,
    name: __,
    ...options
  } = parseReleaseArguments(args, {
    usage,
    allowedFlags: buildFlags,
  });
  if (positionals.length > 0) throw invalidArguments(usage)("'release build' takes only flags");
  const { terminal, installation } = context;
  const made = installation.isPackage
    ? await copyRelease(options, context)
    : await packCpi({ ...options, root: installation.root }, context);
  terminal.out(`Variables of manifests/bosh-deployment/cpi.yml, in ${made.variablesPath}:\n`);
  printBlock(terminal, made.variables);
  return 0;
}

type Variables = Pick<CpiRelease, 'variables' | 'variablesPath'>;

async function packCpi(options: CpiReleaseOptions, context: CommandContext): Promise<Variables> {
  const { terminal, signal } = context;
  const {
    release: made,
    hasExecutable,
    ...variables
  } = await interruptible(
    withLiveProgress(terminal, packing, () => buildCpiRelease(options, releasePorts(context))),
    signal,
    notPacked,
  );
  printCreated(terminal, made);
  if (!hasExecutable)
    terminal.out(
      'The release does not contain the executable for Linux on x86-64, so the CPI needs Node 24 wherever it runs (property node_path).\n\n',
    );
  return variables;
}

/** The npm package contains the release, and npm would remove what is written into the package. */
async function copyRelease(
  options: Parameters<typeof copyCpiRelease>[2],
  context: CommandContext,
): Promise<Variables> {
  const { terminal, installation } = context;
  const source = join(installation.root, 'dist', 'bosh-kubernetes-release.tgz');
  const manifest = await readManifest(source, context);
  const { archivePath, ...variables } = await copyCpiRelease(source, manifest, options);
  printManifest(terminal, manifest, archivePath);
  return variables;
}

/** Packs the release of the volume services (docs/volumes/release.md), in the version of this product. */
async function buildVolumesRelease(
  args: readonly string[],
  { terminal, signal, installation: { root, nodeBinary } }: CommandContext,
): Promise<number> {
  const usage = `release volumes ${volumesUsage}`;
  const [path, extra] = parseReleaseArguments(args, { usage, allowedFlags: [] }).positionals;
  if (path === undefined || extra !== undefined) throw invalidArguments(usage)('Name the archive to write');
  const outFile = archivePathOf(resolve(expandHome(path)), 'bosh-kubernetes-volumes', product.version);
  const made = await interruptible(
    withLiveProgress(terminal, packing, () =>
      packVolumesRelease({ root, nodeBinary, version: product.version, outFile, signal }),
    ),
    signal,
    { result: `'${outFile}' was not written`, next: 'run the same command again' },
  );
  terminal.out(`${outFile}: ${made.name}/${made.version}\n`);
  return 0;
}
