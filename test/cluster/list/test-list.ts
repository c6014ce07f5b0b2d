import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { debianVersions, oldestGo, pins } from '../programs/pins.ts';
import { testsBelow } from '../suites.ts';
import type { Registered } from './recording-test.ts';
import { joinVariants } from './variants.ts';

const checkout = fileURLToPath(new URL('../../..', import.meta.url));
const begin = '<!-- what npm run test:cluster runs: node scripts/write-test-list.ts -->';
const end = '<!-- end of the list -->';

/**
 * Returns what `npm run test:cluster` runs, as docs/development/real-cluster.md lists it: one line for each test of
 * test/cluster below its suite, the directories whose suites also run against the embedded cluster, and the
 * versions used.
 */
export async function testList(): Promise<string> {
  const cluster = (await readdir(join(checkout, 'test/cluster'))).filter((name) => name.endsWith('.test.ts'));
  const suites = await linesOf(cluster.toSorted().map((name) => `test/cluster/${name}`));
  const drivers = (await linesOf(testsBelow(checkout, 'test/cluster/csi'))).flat();
  const lines = [
    // A file whose tests are in no suite needs no cluster.
    ...suites.filter(([first]) => first?.startsWith('- **')).flat(),
    '- **the volume drivers of these clusters, by themselves (`test/cluster/csi`)**',
    ...drivers,
    ...alsoEmbedded,
  ];
  return `${begin}\n${versions()}\n\n${lines.join('\n')}\n${end}`;
}

const alsoEmbedded = [
  '- **the contract of the API (`test/contract`)**: the suites that hold the embedded server to it',
  '- **what is expected of a CPI (`test/conformance`)**: the same clauses as against the embedded cluster',
];

/** Returns the page with the list inserted. Throws if the page has no place for it. */
export function withTestList(page: string, list: string): string {
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from)
    throw new Error('docs/development/real-cluster.md has no place for the list of tests');
  return `${page.slice(0, from)}${list}${page.slice(to + end.length)}`;
}

function versions(): string {
  const list = (versioned: object): string =>
    Object.entries(versioned)
      .map(([name, version]) => `${name} ${version}`)
      .join(', ');
  return `Versions: ${list(pins)}; of Debian 12 ${list(debianVersions)}; Go ${oldestGo} or newer.`;
}

/**
 * Returns the lines of each file. A file has to be loaded for that, because only its loops know the names of
 * their tests.
 */
async function linesOf(files: readonly string[]): Promise<string[][]> {
  const program = join(checkout, 'test/cluster/list/registered-tests.ts');
  const words = [program, ...files.map((file) => join(checkout, file))];
  const { stdout } = await promisify(execFile)(process.execPath, words, { maxBuffer: 2 ** 24 });
  return (JSON.parse(stdout) as Registered[][]).map((registered) => {
    let suites = 0;
    const groups = Map.groupBy(registered, ({ kind, from }) => {
      suites += kind === 'suite' ? 1 : 0;
      return `${suites} ${kind} ${from}`;
    });
    return [...groups.values()].flatMap((group) =>
      joinVariants(group.map(({ name }) => name)).map((name) =>
        group[0]?.kind === 'suite' ? `- **${name}**` : `  - ${name}`,
      ),
    );
  });
}
