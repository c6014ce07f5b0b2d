import { join } from 'node:path';
import { parse } from 'yaml';
import { interpolateTemplate } from '../../src/bosh/manifest/interpolate-template.ts';
import { pathsOf } from './manifest-paths.ts';
import { changesBetween, writePaths } from './path-lists.ts';

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
  writePaths(new URL('paths/', import.meta.url), name, lines);

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
  await write(name, changesBetween(old, now));
}
