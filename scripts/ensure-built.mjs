// Plain JavaScript like ensure-installed.mjs. Decides in a few milliseconds if `dist` was built from the
// present sources.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { glibcHint } from '../bin/run-main.mjs';
import { holdingLock } from './checkout-lock.mjs';
import { cacheEnvironment, lock, pinnedNode, root } from './ensure-installed.mjs';
import { fail } from './fail.mjs';

const inputs = [
  'src',
  'embedded-cluster',
  'release',
  'examples/hello/release',
  'scripts',
  'package-lock.json',
];
/** The files that create-release writes, and the artefacts that it packs. */
const packed =
  /^release\/(LICENSE|NOTICE|src|dev_releases|releases|final_blobs|\.dev_builds|\.final_builds)$/;
const stamp = join(root, 'dist', '.built-from');

/** The main module of `bosh-kubernetes`. It exists if it was built here, from any sources. */
export const commandLine = join(root, 'dist', 'cli', 'main.mjs');

/**
 * Runs scripts/build.ts unless the last build was made from the same bytes. Returns false if the build
 * failed. A build runs `bosh-kubernetes` with the arguments `beside` as soon as that is built.
 */
export async function ensureBuilt(beside = []) {
  const wanted = digestOf(inputs);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return true;
  return holdingLock(lock, (run) => build(wanted, beside, run));
}

async function build(wanted, beside, run) {
  checkPinnedNode();
  // If the build is killed from here on, `dist` matches no sources.
  rmSync(stamp, { force: true });
  console.error('Building...');
  const done = await run([pinnedNode, join(root, 'scripts', 'build.ts'), ...beside], {
    cwd: root,
    // The cache is for the modules of the build, and for the command beside it.
    env: { ...cacheEnvironment(), ...process.env },
  });
  if (done.error !== undefined) fail(`the build could not be started: ${done.error.message}`);
  if (done.status !== 0) return false;
  writeFileSync(stamp, wanted);
  return true;
}

/** Checks that the pinned Node starts. */
function checkPinnedNode() {
  const { error, status, signal, stderr } = spawnSync(pinnedNode, ['--version'], { encoding: 'utf8' });
  if (error === undefined && status === 0) return;
  const stderrText = error?.message ?? `${stderr.trim()} (${signal ?? `exit code ${status}`})`;
  const hint = glibcHint(pinnedNode, error, stderr ?? '');
  fail(`the Node that this runs on cannot be started: ${stderrText}${hint}`);
}

function digestOf(paths) {
  const hash = createHash('sha256');
  for (const path of paths) addTo(hash, path);
  return hash.digest('hex');
}

function addTo(hash, path) {
  const absolute = join(root, path);
  if (path.endsWith('.test.ts') || packed.test(path)) return;
  if (/\.[a-z]+$/.test(path) || !isDirectory(absolute)) {
    hash.update(`${path}\0`).update(readFileSync(absolute)).update('\0');
    return;
  }
  for (const name of readdirSync(absolute).sort()) addTo(hash, join(path, name));
}

function isDirectory(path) {
  try {
    readdirSync(path);
    return true;
  } catch (error) {
    if (error.code === 'ENOTDIR') return false;
    throw error;
  }
}
