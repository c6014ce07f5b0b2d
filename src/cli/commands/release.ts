import { ProductError } from '../../errors/product-error.ts';
import { buildCpiRelease } from '../build-cpi-release.ts';
import type { Command } from '../command.ts';
import { parseReleaseArguments, releasePorts } from '../release-arguments.ts';
import { printBlock } from '../terminal.ts';
import { printCreated } from './create-release.ts';

const usage = 'build [--final] [--version VERSION] [--force] [--tarball FILE] [--url URL] [--json]';

/** Commands for the release with the job kubernetes_cpi (docs/director.md). */
export const release: Command = {
  name: 'release',
  usage,
  summary: "Make the CPI's release, and print the variables of manifests/bosh-deployment/cpi.yml",
  json: true,
  async run(words, context) {
    const {
      positionals,
      directory: _,
      name: __,
      ...options
    } = parseReleaseArguments(words, {
      usage: `release ${usage}`,
      taken: ['version', 'timestamp-version', 'final', 'force', 'tarball', 'url'],
    });
    if (positionals.join(' ') !== 'build')
      throw new ProductError('INVALID_ARGUMENT', `'release' wants: release ${usage}`);
    const { terminal, installation } = context;
    const made = await buildCpiRelease({ ...options, root: installation.root }, releasePorts(context));
    printCreated(terminal, made.release);
    if (!made.hasExecutable)
      terminal.out(
        'Without the executable for Linux on x86-64: wherever it runs, the CPI needs Node 24 (property node_path).\n\n',
      );
    terminal.out(`Variables of manifests/bosh-deployment/cpi.yml, in ${made.variablesPath}:\n`);
    printBlock(terminal, made.variables);
    return 0;
  },
};
