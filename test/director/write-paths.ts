import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { interpolateTemplate } from '../../src/bosh/manifest/interpolate-template.ts';
import { pathsOf } from './manifest-paths.ts';

/**
 * Writes `paths/bosh.txt`, the paths of bosh-deployment's bosh.yml, and for each of its ops files the paths
 * that it adds (+) and removes (-). It copies no values. Run it by hand if upstream's paths have changed:
 * node test/director/write-paths.ts CHECKOUT
 */
const [checkout = ''] = process.argv.slice(2);
const fileOf = (name: string): string => join(checkout, `${name}.yml`);
const read = async (...names: readonly string[]): Promise<string[]> =>
  pathsOf(parse(await interpolateTemplate({ path: fileOf('bosh'), opsFiles: names.map(fileOf) })));
const write = (name: string, lines: readonly string[]): Promise<void> =>
  writeFile(join(import.meta.dirname, 'paths', `${name}.txt`), `${lines.join('\n')}\n`);

const whole = await read();
await write('bosh', whole);
for (const [name, before] of [
  ['uaa', []],
  ['credhub', ['uaa']],
  ['jumpbox-user', []],
  ['bbr', []],
] as const) {
  const old = before.length === 0 ? whole : await read(...before);
  const now = await read(...before, name);
  const removed = old.filter((path) => !now.includes(path)).map((path) => `- ${path}`);
  await write(name, [...removed, ...now.filter((path) => !old.includes(path)).map((path) => `+ ${path}`)]);
}
