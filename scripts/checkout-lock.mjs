// Plain JavaScript like ensure-installed.mjs. Allows one installation or build of a checkout at a time, even
// if a process is killed.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync, readlinkSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { fail } from './fail.mjs';

/**
 * Runs `action` as the only installation or build of a checkout. If another one runs, ends the process with a
 * message. The lock is a symbolic link that names its holders, each by pid and start time. It is created
 * atomically, and is held as long as one of them runs. `action` gets `run`, which resolves with the exit
 * status of a program; the program holds the lock too.
 */
export async function holdingLock(path, action) {
  takeLock(path);
  try {
    return await action((command, options) => runHolding(path, command, options));
  } finally {
    rmSync(path, { force: true });
  }
}

/**
 * The program begins after the lock names it. If this process is killed before that, it leaves no program;
 * after it, the lock names the program.
 */
async function runHolding(path, command, options) {
  const child = spawn('/bin/sh', ['-c', 'read -r go && exec "$@" < /dev/null', 'sh', ...command], {
    ...options,
    stdio: ['pipe', 2, 2],
  });
  const ended = new Promise((resolve) => {
    child.on('error', (error) => resolve({ error }));
    child.on('exit', (status, signal) => resolve({ status, signal }));
  });
  if (child.pid !== undefined) {
    const holders = [process.pid, child.pid].map(identityOf).filter((holder) => holder !== undefined);
    replace(path, holders.join(' '));
    // The program may have been killed already.
    child.stdin.on('error', () => {});
    child.stdin.end('go\n');
  }
  return ended;
}

function takeLock(path) {
  while (!link(path)) {
    const holders = holdersOf(path);
    if (holders === undefined) continue;
    const living = livingOf(holders);
    if (living !== undefined)
      fail(`another installation or build is running here (pid ${living}); try again when it is done`);
    if (takeOver(path, holders)) return;
  }
}

/**
 * If several starts find the same dead holders, only one takes the lock over. A second lock decides which
 * one.
 */
function takeOver(path, dead) {
  const claim = `${path}.after-${dead.replaceAll(' ', '-')}`;
  takeLock(claim);
  // Another start may have taken and released the lock since the holders were read.
  const isNext = holdersOf(path) === dead;
  if (isNext) replace(path, identityOf(process.pid));
  rmSync(claim, { force: true });
  return isNext;
}

function link(path) {
  try {
    symlinkSync(identityOf(process.pid), path);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    return fail(`${path} cannot be written: ${error.message}`);
  }
}

function replace(path, holders) {
  const draft = `${path}.${randomBytes(8).toString('hex')}`;
  symlinkSync(holders, draft);
  renameSync(draft, path);
}

/**
 * Returns the holders, or undefined if the lock has been released. The text becomes part of a path, so only
 * pids and start times are accepted.
 */
function holdersOf(path) {
  let holders;
  try {
    holders = readlinkSync(path);
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    return fail(`${path} was not created by an installation or a build; remove it (${error.message})`);
  }
  if (/^\d+ \d+( \d+ \d+)?$/.test(holders)) return holders;
  return fail(`${path} was not created by an installation or a build; remove it (it names '${holders}')`);
}

function livingOf(holders) {
  const fields = holders.split(' ');
  return fields.find((pid, index) => index % 2 === 0 && identityOf(pid) === `${pid} ${fields[index + 1]}`);
}

/**
 * Returns `<pid> <start time>`, or undefined if the process has ended. A zombie counts as ended, because not
 * every init of a container reaps orphans.
 */
function identityOf(pid) {
  const stat = readStat(pid);
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields === undefined || ['Z', 'X'].includes(fields[0]) ? undefined : `${pid} ${fields[19]}`;
}

function readStat(pid) {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch (error) {
    // The process ended while it was read.
    if (['ENOENT', 'ESRCH'].includes(error.code)) return undefined;
    throw error;
  }
}
