import { resolve } from 'node:path';
import { createRelease as create, packReleaseManifest } from '../../bosh/release/create-release.ts';
import type { CreatedRelease } from '../../bosh/release/create-release.ts';
import { ProductError } from '../../errors/product-error.ts';
import type { Command } from '../command.ts';
import { expandHome } from '../expand-home.ts';
import { parseReleaseArguments, releasePorts } from '../release-arguments.ts';
import { printRelease } from '../release-tables.ts';
import type { Terminal } from '../terminal.ts';

const usage =
  '[RELEASE-MANIFEST] [--dir DIRECTORY] [--name NAME] [--version VERSION] [--timestamp-version] [--final] [--force] ' +
  '[--tarball FILE] [--sha2] [--json]';

export const createRelease: Command = {
  name: 'create-release',
  usage,
  summary: 'Pack a release directory, as bosh create-release does',
  json: true,
  async run(words, context) {
    const { positionals, ...options } = parseReleaseArguments(words, {
      usage: `create-release ${usage}`,
      taken: ['dir', 'name', 'version', 'timestamp-version', 'final', 'force', 'tarball'],
    });
    const [manifest, extra] = positionals;
    if (extra !== undefined)
      throw new ProductError(
        'INVALID_ARGUMENT',
        `One release manifest is taken. Usage: create-release ${usage}`,
      );
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
export function printCreated(terminal: Terminal, release: CreatedRelease): void {
  const jobs = release.parts.filter(({ kind }) => kind === 'job');
  const packages = release.parts.filter(({ kind }) => kind === 'package');
  printRelease(terminal, { ...release, jobs, packages });
}
