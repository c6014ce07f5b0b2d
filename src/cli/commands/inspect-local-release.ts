import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { openRelease } from '../../bosh/release/open-release.ts';
import { readReleaseManifest } from '../../bosh/release/release-manifest.ts';
import { ProductError } from '../../errors/product-error.ts';
import { removeTree } from '../../platform/remove-tree.ts';
import type { Command } from '../command.ts';
import { expandHome } from '../expand-home.ts';
import { parseReleaseArguments } from '../release-arguments.ts';
import { printRelease } from '../release-tables.ts';

const usage = 'FILE [--json]';

export const inspectLocalRelease: Command = {
  name: 'inspect-local-release',
  usage,
  summary: 'Verify a release archive and show what is in it, as bosh inspect-local-release does',
  json: true,
  async run(words, { terminal }) {
    const refused = `inspect-local-release ${usage}`;
    const [path, extra] = parseReleaseArguments(words, { usage: refused, taken: [] }).positionals;
    if (path === undefined || extra !== undefined)
      throw new ProductError('INVALID_ARGUMENT', `One release archive is taken. Usage: ${refused}`);
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
