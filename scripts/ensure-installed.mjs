// Runs on any Node (18 or newer), before dependencies are installed: plain JavaScript without dependencies.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { holdingLock } from './checkout-lock.mjs';
import { fail } from './fail.mjs';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
/** The folder of Node's compile cache, for commands and tests. */
export const compileCache = join(root, 'node_modules', '.cache', 'compiled');
/**
 * Returns the environment in which the pinned Node uses that cache. It is empty for another user than the
 * owner of the checkout, such as root by sudo, because the owner's next `npm ci` could not remove files of
 * that user.
 */
export const cacheEnvironment = () =>
  statSync(root).uid === process.getuid() ? { NODE_COMPILE_CACHE: compileCache } : {};
export const pinnedNode = join(root, 'node_modules', `node-linux-${process.arch}`, 'bin', 'node');
const stamp = join(root, 'node_modules', '.installed-from');
/** The lock of installation and build (checkout-lock.mjs). */
export const lock = join(root, '.installing');

/**
 * Returns true if there is a Node that can run the built program, from any package-lock.json. If the stamp is
 * missing, npm has failed or was killed; the Node may be complete or half written, so the function runs it to
 * check.
 */
export const wasInstalled = () =>
  existsSync(stamp) ? existsSync(pinnedNode) : spawnSync(pinnedNode, ['--version']).status === 0;

/**
 * Installs the dependencies with `npm ci` unless node_modules already matches package-lock.json. Ends the
 * process with a message and exit code 1 if that is not possible.
 */
export async function ensureInstalled() {
  if (process.platform !== 'linux')
    fail(`needs Linux (mount and pid namespaces); this is ${process.platform}`);
  const wanted = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
  if (existsSync(pinnedNode) && readOr(stamp) === wanted) return;
  await holdingLock(lock, (run) => install(wanted, run));
}

async function install(wanted, run) {
  // If the installation is killed from here on, node_modules matches no package-lock.json.
  rmSync(stamp, { force: true });
  console.error('Installing dependencies (npm ci)...');
  // Use the Node that runs npm, not the pinned one, which npm's scripts find first, because npm's global
  // settings belong to it.
  const { npm_execpath: npm, npm_node_execpath: node } = process.env;
  const command = npm === undefined || node === undefined ? ['npm'] : [node, npm];
  // Scripts of packages would run as this user, and no dependency needs one (.npmrc has the same setting for
  // `npm ci` by hand).
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const done = await run([...command, ...args], { cwd: root });
  if (done.error !== undefined) fail(`npm could not be started: ${done.error.message}`);
  if (done.status !== 0)
    fail(`npm ci failed with ${done.signal ?? `exit code ${done.status}`}; its output is above`);
  if (!existsSync(pinnedNode))
    fail(`there is no Node for ${process.platform}-${process.arch} among the dependencies`);
  writeFileSync(stamp, wanted);
}

function readOr(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}
