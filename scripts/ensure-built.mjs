// Plain JavaScript like ensure-installed.mjs: decides in a few milliseconds whether `dist` is what the sources make.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compileCache, holdingLock, pinnedNode, root } from './ensure-installed.mjs';

const inputs = ['src', 'release', 'examples/hello/release', 'scripts', 'package-lock.json'];
const stamp = join(root, 'dist', '.built-from');

/** The main module of `bosh-kubernetes`: there when it was built here, of whatever sources. */
export const commandLine = join(root, 'dist', 'cli', 'main.mjs');

/**
 * Runs scripts/build.ts unless the last build was made from the same bytes. Returns false when the build failed. A build runs
 * `bosh-kubernetes` with the words `beside` as soon as that is built.
 */
export function ensureBuilt(beside = []) {
  const wanted = digestOf(inputs);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return true;
  return holdingLock(() => build(wanted, beside));
}

function build(wanted, beside) {
  // killed from here on, what is there is not what any sources make
  rmSync(stamp, { force: true });
  console.error('Building...');
  const done = spawnSync(pinnedNode, [join(root, 'scripts', 'build.ts'), ...beside], {
    cwd: root,
    // of the build's own modules, and of the command beside it
    env: { NODE_COMPILE_CACHE: compileCache, ...process.env },
    stdio: ['ignore', 2, 2],
  });
  if (done.status !== 0) return false;
  writeFileSync(stamp, wanted);
  return true;
}

function digestOf(paths) {
  const hash = createHash('sha256');
  for (const path of paths) addTo(hash, path);
  return hash.digest('hex');
}

function addTo(hash, path) {
  const absolute = join(root, path);
  if (path.endsWith('.test.ts') || path.startsWith('release/src/')) return;
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
