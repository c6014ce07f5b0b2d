import { copyFile, mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
/** The directory of licence texts of packages that contain none, one file each; `/` in a name becomes `+`. */
const committed = join(root, 'release', 'notices');

/** The packages of the pinned runtimes that are shipped with the bundles. */
export const runtimes = { bun: '@oven/bun-linux-x64', node: `node-linux-${process.arch}` } as const;

/**
 * Returns the packages among the bundled files, as paths below node_modules: a package may have another
 * version of a package in its own node_modules.
 */
export function packagesAmong(inputs: Iterable<string>): readonly string[] {
  const found = new Set<string>();
  for (const path of inputs) {
    const [, name] = /(?:^|\/)node_modules\/((?:.*\/node_modules\/)?(?:@[^/]+\/)?[^/]+)\//u.exec(path) ?? [];
    if (name !== undefined) found.add(name);
  }
  return [...found].toSorted();
}

/**
 * Writes `LICENSE`, this repository's licence, and `NOTICE`, the licences and notices of the installed
 * packages, into a folder that is created if needed. Rejects if one of the packages has no such text, neither
 * its own nor in release/notices, or if the text in release/notices is for another version.
 */
export async function writeNotices(directory: string, packages: Iterable<string>): Promise<void> {
  const notices: string[] = [];
  for (const path of [...new Set(packages)].toSorted())
    notices.push(await noticeOf(join(root, 'node_modules', path), path.replace(/^.*\/node_modules\//u, '')));
  const head = 'This product holds the following software of others.\n';
  await mkdir(directory, { recursive: true });
  await copyFile(join(root, 'LICENSE'), join(directory, 'LICENSE.partial'));
  await rename(join(directory, 'LICENSE.partial'), join(directory, 'LICENSE'));
  await writeFile(join(directory, 'NOTICE.partial'), [head, ...notices].join(`\n${'='.repeat(80)}\n\n`));
  await rename(join(directory, 'NOTICE.partial'), join(directory, 'NOTICE'));
}

/** Returns the licence text of one installed package, below its name, version and kind of licence. */
export async function noticeOf(directory: string, name: string): Promise<string> {
  const { version, license = 'see below' } = JSON.parse(
    await readFile(join(directory, 'package.json'), 'utf8'),
  ) as {
    version: string;
    license?: string;
  };
  const texts = await textsOf(directory, name, version);
  if (texts.length === 0)
    throw new Error(
      `package ${name} brings no licence file; commit its text as release/notices/${name.replace('/', '+')}.md, with its origin`,
    );
  return [`${name} ${version} (${license})\n`, ...texts.map((text) => `${text.trim()}\n`)].join('\n');
}

async function textsOf(directory: string, name: string, version: string): Promise<readonly string[]> {
  const names = (await readdir(directory)).toSorted();
  // the packages of ruby.wasm have them beside their programs
  const below = names.includes('dist') ? (await readdir(join(directory, 'dist'))).toSorted() : [];
  const own = [...names, ...below.map((one) => join('dist', one))].filter((one) =>
    /^(dist\/)?(licen[cs]e|copying|notice)/iu.test(one),
  );
  const texts = await Promise.all(own.map((one) => readFile(join(directory, one), 'utf8')));
  if (texts.length > 0) return texts;
  const readme = names.find((one) => /^readme/iu.test(one));
  const notice =
    readme === undefined ? undefined : sectionOf(await readFile(join(directory, readme), 'utf8'));
  if (notice !== undefined) return [notice];
  const given = `${name.replace('/', '+')}.md`;
  if (!(await readdir(committed)).includes(given)) return [];
  const text = await readFile(join(committed, given), 'utf8');
  // a new version may have another licence
  if (text.includes(`${name} ${version}`)) return [text];
  throw new Error(
    `release/notices/${given} does not say that it is of ${name} ${version}: compare its text with that version's licence, then name the version in it`,
  );
}

/** Returns the licence section of a readme if it contains the text itself, not only a name or a link. */
function sectionOf(readme: string): string | undefined {
  const [section] = /^#+ *licen[cs]e *$[\s\S]*/imu.exec(readme) ?? [];
  return section?.includes('Permission is hereby granted') === true ? section : undefined;
}
