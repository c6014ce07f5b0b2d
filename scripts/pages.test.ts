import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { test } from 'node:test';
import { commands } from '../src/cli/commands.ts';
import { anchorsOf, isExternal, linksOf, withoutBlocks } from './site/markdown.ts';
import { navigationOf } from './site/navigation.ts';
import { pagePaths } from './site/site-pages.ts';

const root = join(import.meta.dirname, '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

const pages = pagePaths(root);
/** The files that may name a page in a comment or in a message. */
const sources = globSync(
  [
    '{bench,bin,embedded-cluster,scripts,src,test}/**/*.{ts,mjs,sh,pml}',
    '{embedded-cluster,examples,manifests,release}/**/*.{yml,yaml,erb}',
    'release/**/spec',
  ],
  // The tests of the site have pages of their own.
  { cwd: root, exclude: ['scripts/site/*.test.ts'] },
);

test('every link of a page leads to a file, and to a heading if it names one', () => {
  const broken = pages.flatMap((page) =>
    linksOf(read(page)).flatMap((link) => {
      if (isExternal(link)) return [];
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? page : join(dirname(page), path);
      if (!existsSync(join(root, target))) return [`${page}: ${link}`];
      if (anchor === undefined || anchorsOf(read(target)).includes(anchor)) return [];
      return [`${page}: ${link}`];
    }),
  );
  assert.deepEqual(broken, []);
});

test('docs/README.md, from which the navigation of the site is made, has every page once', () => {
  const entries = navigationOf(read('docs/README.md')).flatMap(({ items }) => items);
  const targets = entries.map(({ link }) => join('docs', link));
  // An entry for a folder without a page of its own stands for all pages in it.
  const listed = targets.flatMap((path) =>
    path.endsWith('.md') ? [path] : pagePaths(root).filter((page) => dirname(page) === path),
  );
  const wanted = pagePaths(root).filter((path) => path !== 'docs/README.md');
  assert.deepEqual(
    wanted.filter((path) => !listed.includes(path)),
    [],
    'add a row for each of these pages',
  );
  assert.deepEqual(
    listed.filter((path, at) => listed.indexOf(path) !== at),
    [],
    'these pages have several rows',
  );
  assert.match(read('README.md'), /\]\(docs\/README\.md\)/u);
});

test('no page has braces outside of code that the site would take for an expression', () => {
  const found = pages.filter((page) => /\{\{/u.test(withoutBlocks(read(page)).replaceAll(/`[^`]*`/gu, '')));
  assert.deepEqual(found, []);
});

test('no page has more than 350 lines', () => {
  const long = pages.filter((page) => page !== 'docs/errors.md' && read(page).split('\n').length > 351);
  assert.deepEqual(long, []);
});

test('every file and folder of the repository that a page names exists', () => {
  const missing = pages.flatMap((page) => {
    const named = read(page).matchAll(
      /`((?:\.ci|bench|docs|embedded-cluster|examples|manifests|release|scripts|src|test)\/[\w./-]+)`/gu,
    );
    // The folders that a build or `create-release` writes are not in a checkout.
    const written = /^release\/(?:releases|final_blobs|\.final_builds)/u;
    return [...named].flatMap(([, path = '']) =>
      existsSync(join(root, path)) || written.test(path) ? [] : [`${page}: ${path}`],
    );
  });
  assert.deepEqual(missing, []);
});

/** Returns false for a name that is no command, and for a word that is none of its sub-commands. */
function isCommand(name: string, part: string): boolean {
  if (name === 'help') return true;
  const command = commands.find((each) => each.name === name || each.aliases?.includes(name) === true);
  const [, parts] = /^([a-z0-9-]+(?:\|[a-z0-9-]+)+) /u.exec(command?.usage ?? '') ?? [];
  return command !== undefined && (part === '' || parts === undefined || parts.split('|').includes(part));
}

test('every file that docs/architecture.md lists for a call of the CPI exists', () => {
  const [calls = ''] = /^\| call \| files of `src\/cpi`.*?\n\n/msu.exec(read('docs/architecture.md')) ?? [];
  const files = [...calls.matchAll(/`([\w/-]+\.ts)`/gu)].map(([, path = '']) => path);
  assert.ok(files.length > 20, `${files.length} files`);
  assert.deepEqual(
    files.filter((path) => !existsSync(join(root, 'src/cpi', path))),
    [],
  );
});

test('every command that a page shows exists', () => {
  const scripts = Object.keys((JSON.parse(read('package.json')) as { scripts: object }).scripts);
  const unknown = pages.flatMap((page) => {
    const text = read(page);
    const npm = [...text.matchAll(/npm run ([a-z][\w:-]*\w)(?![\w:])/gu)].filter(
      ([, name = '']) => !scripts.includes(name),
    );
    const own = [
      ...text.matchAll(/node bin\/bosh-kubernetes\.mjs ([a-z][\w-]*)(?: ([a-z][a-z0-9-]*))?/gu),
      ...text.matchAll(/(?:^(?: {4}|\$ )?|`|npx )bosh-kubernetes ([a-z][\w-]*)(?: ([a-z][a-z0-9-]*))?/gmu),
    ].filter(([, name = '', part = '']) => !isCommand(name, part));
    return [...npm, ...own].map(([shown]) => `${page}: ${shown}`);
  });
  assert.deepEqual(unknown, []);
});

test('pages write bosh-kubernetes COMMAND, which docs/installing.md explains for the package and for a checkout', () => {
  const explain = ['README.md', 'docs/installing.md'];
  const found = pages.filter(
    (page) => !explain.includes(page) && /(?:node|npx)\s(?:bin\/)?bosh-kubernetes/u.test(read(page)),
  );
  assert.deepEqual(found, []);
});

test('every page that a comment or a message names exists', () => {
  const missing = sources.flatMap((file) => {
    const text = read(file);
    // A path behind the name of another project, as in `containerd: docs/hosts.md`, is a page of that
    // project.
    const named = [
      ...text.matchAll(/(?<![\w/.-]|[\w-]: )docs\/[\w/-]+\.md/gu),
      ...text.matchAll(/(?<![\w/.-])(?:embedded-cluster\/)?(?:README|SECURITY|CONTRIBUTING)\.md/gu),
    ].map(([path]) => path);
    const records = [...text.matchAll(/docs\/decisions\/(\d{4})\b/gu)].flatMap(([path, number = '']) =>
      globSync(`docs/decisions/${number}-*.md`, { cwd: root }).length === 1 ? [] : [`${file}: ${path}`],
    );
    return [
      ...named.filter((path) => !existsSync(join(root, path))).map((path) => `${file}: ${path}`),
      ...records,
    ];
  });
  assert.deepEqual(missing, []);
});

test('every source file that a comment names exists', () => {
  const names = new Set(
    globSync('{bench,bin,embedded-cluster,scripts,src,test}/**/*.ts', { cwd: root }).map((path) =>
      basename(path),
    ),
  );
  const missing = sources.flatMap((file) =>
    [...read(file).matchAll(/^\s*(?:\*|\/\/|\/\*).*$/gmu)].flatMap(([line]) =>
      [...line.matchAll(/(?<![\w./-])(?:[\w-]+\/)*([a-z][\w-]*\.ts)\b/gu)].flatMap(([path, name = '']) =>
        names.has(name) ? [] : [`${file}: ${path}`],
      ),
    ),
  );
  assert.deepEqual(missing, []);
});

test('the newest section of CHANGELOG.md and package-lock.json have the version in package.json', () => {
  const { version } = JSON.parse(read('package.json')) as { version: string };
  const [, newest] = /^## \[(?!Unreleased)(.+?)\]/mu.exec(read('CHANGELOG.md')) ?? [];
  const lock = JSON.parse(read('package-lock.json')) as { version: string };
  assert.deepEqual([newest, lock.version], [version, version]);
});
