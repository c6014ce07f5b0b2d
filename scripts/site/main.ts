// npm run site: builds the documentation site into site/dist and checks its links. With --preview it then
// serves the site on loopback until it is stopped.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { brokenLinks } from './broken-links.ts';
import { sitePages } from './site-pages.ts';

const root = join(import.meta.dirname, '../..');
const site = join(root, 'site');
const dist = join(site, 'dist');

function run(program: string, ...args: readonly string[]): void {
  const { status, error } = spawnSync(program, args, { cwd: site, stdio: 'inherit' });
  if (error !== undefined) throw error;
  if (status !== 0) process.exit(status ?? 1);
}

/** Installs the generator unless site/node_modules already matches site/package-lock.json. */
function install(): void {
  const lock = join(site, 'package-lock.json');
  const installed = join(site, 'node_modules/.installed-from');
  if (existsSync(installed) && readFileSync(installed, 'utf8') === readFileSync(lock, 'utf8')) return;
  console.log('Installing the generator of the site (npm ci)...');
  run('npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error');
  cpSync(lock, installed);
}

function writePages(): void {
  const folder = join(site, 'pages');
  rmSync(folder, { recursive: true, force: true });
  for (const [path, text] of sitePages(root)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

install();
writePages();
run(process.execPath, 'node_modules/vitepress/bin/vitepress.js', 'build');
const broken = brokenLinks(dist, sitePages(root));
for (const each of broken) console.error(each);
if (broken.length > 0) process.exit(1);
if (process.argv.includes('--preview')) {
  run(process.execPath, 'node_modules/vite/bin/vite.js', 'preview', '--outDir=dist', '--host=127.0.0.1');
} else {
  console.log(`The site is in ${dist}. "npm run site -- --preview" serves it on this machine.`);
}
