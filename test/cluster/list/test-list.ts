import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pins } from '../programs/pins.ts';

const cluster = fileURLToPath(new URL('..', import.meta.url));
const begin = '<!-- what npm run test:cluster runs: node scripts/write-test-list.ts -->';
const end = '<!-- end of the list -->';

/** The tests of test/cluster as the README lists them: a line each under the name of their suite, and the versions used. */
export async function testList(): Promise<string> {
  const files = (await readdir(cluster)).filter((name) => name.endsWith('.test.ts')).toSorted();
  const suites = await Promise.all(
    files.map(async (file) => suiteOf(await readFile(join(cluster, file), 'utf8'))),
  );
  return `${begin}\n${versions()}\n\n${suites.flat().join('\n')}\n${end}`;
}

/** The README with the list in its place. Throws where it has none. */
export function withTestList(readme: string, list: string): string {
  const [from, to] = [readme.indexOf(begin), readme.indexOf(end)];
  if (from < 0 || to < from)
    throw new Error('README.md has no place for the list of the real cluster’s tests');
  return `${readme.slice(0, from)}${list}${readme.slice(to + end.length)}`;
}

function versions(): string {
  const words = Object.entries(pins).map(([name, version]) => `${name} ${version}`);
  return `Versions: ${words.join(', ')}; containerd and runc of Debian 12.`;
}

/** Names as they stand in the source; what a loop fills in shows as `…`. None of a file whose tests need no cluster. */
function suiteOf(source: string): string[] {
  const string = String.raw`(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|${'`'}((?:[^${'`'}\\]|\\.)*)${'`'})`;
  const calls = new RegExp(String.raw`^((?:describe(?:Cluster)?|test)| +test)\(\s*${string}`, 'gmu');
  const lines = [...source.matchAll(calls)].map(([, call, single, double, template]) => {
    const text = (single ?? double ?? template ?? '').replace(/\$\{[^}]*\}/gu, '…').replace(/\\(.)/gu, '$1');
    return call?.trim() === 'test' ? `  - ${text}` : `- **${text}**`;
  });
  return lines[0]?.startsWith('- **') === true ? lines : [];
}
