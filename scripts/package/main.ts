import { join } from 'node:path';
import { parseArgs } from 'node:util';
import product from '../../package.json' with { type: 'json' };
import { packArtefacts } from './pack-artefacts.ts';
import { packTarball } from './pack-tarball.ts';
import { readCommit } from './read-commit.ts';

// npm run package [-- --url URL] [--out DIRECTORY]: packs the npm package and the other artefacts of this
// version.
const root = join(import.meta.dirname, '..', '..');
const { values } = parseArgs({ options: { url: { type: 'string' }, out: { type: 'string' } } });
const outDirectory = values.out ?? join(root, 'dist', 'package');
const { version } = product;
const tarball = await packTarball({ outDirectory, version });
const options = { outDirectory, version, commit: await readCommit(root), url: values.url };
// The sums are last, and contain those of the tarball.
const paths = [tarball, ...(await packArtefacts(options))];
process.stdout.write(paths.map((path) => `${path}\n`).join(''));
