// Runs on whatever Node starts it (18 or newer), before anything of ours is installed: plain JavaScript, no dependency.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
/** Where Node keeps what it makes of the sources, for commands and tests. */
export const compileCache = join(root, 'node_modules', '.cache', 'compiled');
export const pinnedNode = join(root, 'node_modules', `node-linux-${process.arch}`, 'bin', 'node');
const stamp = join(root, 'node_modules', '.installed-from');
const lock = join(root, '.installing');

/** Whether an installation ended here, of whatever package-lock.json: npm ci begins with removing the one before. */
export const wasInstalled = () => existsSync(pinnedNode) && existsSync(stamp);

/**
 * Installs the dependencies with `npm ci` unless node_modules already holds what package-lock.json asks for.
 * Ends the process with a sentence and exit code 1 where that is not possible.
 */
export function ensureInstalled() {
  if (process.platform !== 'linux')
    fail(`needs Linux (mount and pid namespaces); this is ${process.platform}`);
  const wanted = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
  if (existsSync(pinnedNode) && readOr(stamp) === wanted) return;
  holdingLock(() => install(wanted));
}

function install(wanted) {
  console.error('Installing dependencies (npm ci)...');
  // By the Node that runs npm, not by the pinned one, which npm's scripts find first: npm's global settings go with it.
  const { npm_execpath: npm, npm_node_execpath: node } = process.env;
  const command = npm === undefined || node === undefined ? ['npm'] : [node, npm];
  const done = spawnSync(
    command[0],
    [...command.slice(1), 'ci', '--no-audit', '--no-fund', '--loglevel=error'],
    {
      cwd: root,
      stdio: ['ignore', 2, 2],
    },
  );
  if (done.error !== undefined) fail(`npm could not be started: ${done.error.message}`);
  if (done.status !== 0) fail(`npm ci failed with exit code ${done.status}; its output is above`);
  if (!existsSync(pinnedNode))
    fail(`there is no Node for ${process.platform}-${process.arch} among the dependencies`);
  writeFileSync(stamp, wanted);
}

/** Runs `action` as the only installation or build of this checkout; while another one runs, ends the process saying so. */
export function holdingLock(action) {
  takeLock();
  try {
    return action();
  } finally {
    rmSync(lock, { recursive: true, force: true });
  }
}

/** A link that names its holder is the lock: made as a whole or not at all. One that died is told by its pid and start time. */
function takeLock() {
  try {
    symlinkSync(`${process.pid} ${startTime(process.pid)}`, lock);
  } catch (error) {
    if (error.code !== 'EEXIST') fail(`${root} cannot be written: ${error.message}`);
    const [pid, started] = (holderOfLock() ?? '').split(' ');
    if (pid !== undefined && pid !== '' && startTime(pid) === started) {
      fail(`another installation or build is running here (pid ${pid}); try again when it is done`);
    }
    rmSync(lock, { recursive: true, force: true });
    takeLock();
  }
}

/** Undefined when it has been released meanwhile, or is the folder that former versions made. */
function holderOfLock() {
  try {
    return readlinkSync(lock);
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    if (error.code === 'EINVAL') return readOr(join(lock, 'holder'));
    throw error;
  }
}

function startTime(pid) {
  const stat = readOr(`/proc/${pid}/stat`);
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
  // a zombie has ended: not every first process of a container is quick to wait for its orphans
  return fields?.[0] === 'Z' || fields?.[0] === 'X' ? undefined : fields?.[19];
}

function readOr(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}

function fail(sentence) {
  console.error(`bosh-kubernetes: ${sentence}`);
  process.exit(1);
}
