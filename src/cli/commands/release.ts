import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import {
  createRelease as create,
  packReleaseManifest,
  type CreatedRelease,
} from '../../bosh/release/create-release.ts';
import { openRelease } from '../../bosh/release/open-release.ts';
import { readReleaseManifest } from '../../bosh/release/release-manifest.ts';
import { removeTree } from '../../platform/remove-tree.ts';
import { expandHome, invalidArguments } from '../args/parse-command-line.ts';
import {
  parseReleaseArguments,
  releaseFlags,
  releasePorts,
  type ReleaseFlag,
} from '../args/release-arguments.ts';
import { buildCpiRelease } from '../build-cpi-release.ts';
import type { Command, CommandContext } from '../command.ts';
import { withSubCommands } from '../with-sub-commands.ts';
import { printRelease } from '../output/release-tables.ts';
import { printBlock, type Terminal } from '../output/terminal.ts';

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
      printCreated(terminal, await packReleaseManifest({ ...options, manifestPath }, releasePorts(context)));
      return 0;
    }
    const release = await create(options, releasePorts(context));
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
  async run(args, { terminal }) {
    const usage = `inspect-local-release ${inspectUsage}`;
    const [path, extra] = parseReleaseArguments(args, { usage, allowedFlags: [] }).positionals;
    if (path === undefined || extra !== undefined) throw invalidArguments(usage)('Name one release archive');
    const within = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-inspect-'));
    try {
      const directory = join(within, 'release');
      await openRelease({ archivePath: resolve(expandHome(path)), directory, within });
      const { jobs, packages, ...release } = await readReleaseManifest(directory);
      printRelease(terminal, {
        ...release,
        archivePath: path,
        jobs: jobs.map(({ packages: references, ...job }) => ({ ...job, references })),
        packages: packages.map(({ dependencies: references, ...one }) => ({ ...one, references })),
      });
    } finally {
      await removeTree(within, { within: tmpdir() });
    }
    return 0;
  },
};

const buildFlags: readonly ReleaseFlag[] = [
  ...(['version', 'timestamp-version', 'final', 'force', 'tarball', 'url'] as const),
];

/** Commands for the release with the job kubernetes_cpi (docs/director.md). */
export const release = withSubCommands({
  name: 'release',
  documentation: 'docs/director.md',
  summary: 'Make the release with the CPI for a director',
  json: true,
  subCommands: [
    {
      name: 'build',
      usage: '',
      summary: "Make the CPI's release, and print the variables of manifests/bosh-deployment/cpi.yml",
      flags: releaseFlags(buildFlags),
      example: '--version 1.0.0 --tarball cpi.tgz',
      run: buildRelease,
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
  } = parseReleaseArguments(args, { usage, allowedFlags: buildFlags });
  if (positionals.length > 0) throw invalidArguments(usage)("'release build' takes no operands");
  const { terminal, installation } = context;
  const made = await buildCpiRelease({ ...options, root: installation.root }, releasePorts(context));
  printCreated(terminal, made.release);
  if (!made.hasExecutable)
    terminal.out(
      'The release does not contain the executable for Linux on x86-64, so the CPI needs Node 24 wherever it runs (property node_path).\n\n',
    );
  terminal.out(`Variables of manifests/bosh-deployment/cpi.yml, in ${made.variablesPath}:\n`);
  printBlock(terminal, made.variables);
  return 0;
}
