import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { findRuby } from '../../src/bosh/template/create-template-renderer.ts';
import { formatTable } from '../../src/cli/output/table.ts';
import { compareRelease, type ComparedRelease } from './compare-release.ts';
import { nativeEngine, upstreamEngine, wasmEngine } from './engines.ts';
import { findReleases } from './find-releases.ts';

/**
 * Compares our output for releases with the output of other programs: templates rendered by an installed
 * ruby, by ruby.wasm and, if BOSH_ERB_RENDERER names erb_renderer.rb, by the bosh CLI's renderer;
 * fingerprints with those in release.MF, and those of a directory with BOSH_CLI's; monit files with the
 * parser of our agent. Exits with 1 if something differs, and with 2 if nothing could be compared. `npm run
 * compare:releases -- DIRECTORY`
 */
const [directory, ...more] = process.argv.slice(2);
const { BOSH_CLI: boshCli, BOSH_ERB_RENDERER: script, PATH: path } = process.env;
const fail = (message: string): never => {
  process.stderr.write(`${message}\n`);
  process.exit(2);
};
if (directory === undefined || more.length > 0) fail('Usage: npm run compare:releases -- DIRECTORY');
const ruby =
  (await findRuby(path)) ?? fail('There is no ruby on PATH to compare ruby.wasm with: install one');
const releases = await findReleases(resolve(directory ?? ''));

const top = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-compare-'));
const engines = [
  nativeEngine(ruby),
  wasmEngine(),
  ...(script === undefined ? [] : [upstreamEngine(resolve(script), { ruby, scratch: top })]),
];
const compared: ComparedRelease[] = [];
try {
  for (const found of releases) {
    const one = await compareRelease(found, {
      engines,
      scratch: join(top, 'release'),
      boshCli: boshCli === undefined ? undefined : resolve(boshCli),
    });
    if (one !== undefined) compared.push(one);
  }
} finally {
  await Promise.all(engines.map((engine) => engine.close()));
  await rm(top, { recursive: true });
}
if (compared.length === 0) fail(`There is no release at or below '${directory}'`);

const rows = compared.map(({ release, jobs, templates, rendered, monitFiles, fingerprints, differences }) =>
  [release, jobs, templates, rendered, monitFiles, fingerprints, differences.length].map(String),
);
const headings = ['Release', 'Jobs', 'Templates', 'Rendered', 'Monit files', 'Fingerprints', 'Differences'];
process.stdout.write(
  `Engines: ${engines.map(({ name }) => name).join(', ')}\n\n${formatTable(headings, rows)}`,
);
for (const { release, notes } of compared)
  for (const note of notes) process.stdout.write(`\n${release}: ${note}\n`);
const differences = compared.flatMap(({ release, differences: of }) =>
  of.map(({ what, how }) => [release, what, how]),
);
process.stdout.write(
  differences.length === 0
    ? '\nNothing differs.\n'
    : `\n${formatTable(['Release', 'What', 'How it differs'], differences)}`,
);
process.exitCode = differences.length === 0 ? 0 : 1;
