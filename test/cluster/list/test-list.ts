import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { clauses } from '../../conformance/clauses.ts';
import { debianVersions, oldestGo, pins } from '../programs/pins.ts';
import { suitesBelow, testsBelow } from '../suites.ts';

const checkout = fileURLToPath(new URL('../../..', import.meta.url));
const begin = '<!-- what npm run test:cluster runs: node scripts/write-test-list.ts -->';
const end = '<!-- end of the list -->';

/**
 * What `npm run test:cluster` runs, as the README lists it: the tests of test/cluster, a line each under the name of their
 * suite, the folders whose suites run against the embedded cluster as well, and the versions used.
 */
export async function testList(): Promise<string> {
  const suitesOf = async (folder: string): Promise<string[]> => {
    const texts = testsBelow(checkout, folder).map((file) => readFile(join(checkout, file), 'utf8'));
    return (await Promise.all(texts)).flatMap(linesOf);
  };
  const cluster = (await readdir(join(checkout, 'test/cluster'))).filter((name) => name.endsWith('.test.ts'));
  const suites = await Promise.all(cluster.toSorted().map((name) => suitesOf(`test/cluster/${name}`)));
  const drivers = await suitesOf('test/cluster/csi');
  const lines = [
    // a file whose tests stand in no suite needs no cluster
    ...suites.filter(([first]) => first?.startsWith('- **')).flat(),
    '- **the volume drivers of these clusters, by themselves (`test/cluster/csi`)**',
    ...drivers,
    ...alsoEmbedded(),
  ];
  return `${begin}\n${versions()}\n\n${lines.join('\n')}\n${end}`;
}

function alsoEmbedded(): string[] {
  const contract = suitesBelow(checkout, 'test/contract').length;
  return [
    `- **the contract of the API (\`test/contract\`)**: the suites that hold the embedded server to it, ${contract} files`,
    `- **what is expected of a CPI (\`test/conformance\`)**: the same ${Object.keys(clauses).length} clauses as against the embedded cluster`,
  ];
}

/** The README with the list in its place. Throws where it has none. */
export function withTestList(readme: string, list: string): string {
  const [from, to] = [readme.indexOf(begin), readme.indexOf(end)];
  if (from < 0 || to < from)
    throw new Error('README.md has no place for the list of the real cluster’s tests');
  return `${readme.slice(0, from)}${list}${readme.slice(to + end.length)}`;
}

function versions(): string {
  const list = (versioned: object): string =>
    Object.entries(versioned)
      .map(([name, version]) => `${name} ${version}`)
      .join(', ');
  return `Versions: ${list(pins)}; of Debian 12 ${list(debianVersions)}; Go ${oldestGo} or newer.`;
}

/** Names as they stand in the source; what a loop fills in shows as `…`. */
function linesOf(source: string): string[] {
  const string = String.raw`(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|${'`'}((?:[^${'`'}\\]|\\.)*)${'`'})`;
  const calls = new RegExp(String.raw`^((?:describe(?:Cluster)?|test)| +test)\(\s*${string}`, 'gmu');
  return [...source.matchAll(calls)].map(([, call, single, double, template]) => {
    const text = (single ?? double ?? template ?? '').replace(/\$\{[^}]*\}/gu, '…').replace(/\\(.)/gu, '$1');
    return call?.trim() === 'test' ? `  - ${text}` : `- **${text}**`;
  });
}
