import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { test } from 'node:test';

const checkout = join(import.meta.dirname, '..');
const architecture = await readFile(join(checkout, 'docs/architecture.md'), 'utf8');

/** Room by path, without `src/`, with the rooms that docs/architecture.md lets it import. */
const rooms = new Map(
  [...architecture.matchAll(/^\| `(?:src\/)?([a-z0-9/-]+)` \|.*\| (.+?) \|$/gm)].map(
    ([, room = '', imports = '']) => [room, imports === '-' ? [] : imports.split(', ')],
  ),
);
const [portsInWords = ''] = /^.*Ports are interfaces[^]*?\n\n/m.exec(architecture) ?? [];
const ports = [...portsInWords.replaceAll(/\([^)]*\)/g, '').matchAll(/`(.+?\.ts)`/g)].map(([, path]) => path);

/** By the longest name, as `volumes/broker` would lie in `volumes`. */
const roomOf = (path: string): string | undefined =>
  [...rooms.keys()]
    .filter((room) => path.startsWith(`${room}/`))
    .toSorted((one, other) => other.length - one.length)[0];

function mayImport(room: string, target: string): boolean {
  const other = roomOf(target);
  // The embedded cluster has one entry file.
  if (target.startsWith('embedded-cluster/') && !room.startsWith('embedded-cluster'))
    return room === 'cli' && target === 'embedded-cluster/index.ts';
  // The version of this product is only there.
  if (target === 'package.json') return true;
  if (other === room || other === 'errors' || other === 'platform' || ports.includes(target)) return true;
  return (rooms.get(room) ?? []).some((allowed) => target.startsWith(`${allowed}/`));
}

const isProduct = (path: string): boolean =>
  path.endsWith('.ts') && !/\.test\.ts$|(^|\/)testing\//.test(path);

const pathOf = (file: string): string => (file.startsWith('embedded-cluster/') ? file : join('src', file));

/** All product files, without `src/`. */
async function productFiles(): Promise<string[]> {
  const own = await readdir(join(checkout, 'src'), { recursive: true });
  const cluster = await readdir(join(checkout, 'embedded-cluster'), { recursive: true });
  return [...own, ...cluster.map((path) => `embedded-cluster/${path}`)].filter(isProduct);
}

test('a room imports what docs/architecture.md says, and nothing else', async () => {
  assert.ok(rooms.size > 10 && ports.length > 4, `${[...rooms.keys()].join()}; ${ports.join()}`);
  const files = await productFiles();
  const wrong: string[] = [];
  for (const file of files) {
    const room = roomOf(file);
    if (room === undefined) {
      if (!file.endsWith('/main.ts')) wrong.push(`${file} is in no room of the table`);
      continue;
    }
    const path = join(checkout, pathOf(file));
    const text = await readFile(path, 'utf8');
    for (const [, specifier = ''] of text.matchAll(/\b(?:from|import)\s*\(?\s*'(\.[^']+)'/g)) {
      const target = relative(checkout, join(path, '..', specifier)).replace(/^src\//, '');
      if (!mayImport(room, target)) wrong.push(`${file} imports ${target}`);
    }
  }
  assert.deepEqual(wrong, []);
});
