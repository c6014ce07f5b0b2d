// Plain JavaScript like ensure-installed.mjs: one installation or build of a checkout at a time, whoever is killed.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync, readlinkSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { fail } from './fail.mjs';

/**
 * Runs `action` as the only installation or build of a checkout; while another one runs, ends the process saying so. The lock
 * is a link that names its holders, each by pid and start time: made as a whole or not at all, and held as long as one of them
 * lives. `action` gets `run`, which resolves with how a program ended; the program holds the lock, too.
 */
export async function holdingLock(path, action) {
  takeLock(path);
  try {
    return await action((command, options) => runHolding(path, command, options));
  } finally {
    rmSync(path, { force: true });
  }
}

/** The program begins when the lock names it: killed before that, this process leaves none, and after it one that is known. */
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
    // it may have been killed already
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

/** Of several starts that find the same dead holders one comes after them: the right to do so is a lock, too. */
function takeOver(path, dead) {
  const claim = `${path}.after-${dead.replaceAll(' ', '-')}`;
  takeLock(claim);
  // another start may have come and gone since they were found
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

/** Undefined when it has been released meanwhile. What it says becomes part of a path: pids and start times, nothing else. */
function holdersOf(path) {
  let holders;
  try {
    holders = readlinkSync(path);
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    return fail(`${path} is not what an installation or build made; remove it (${error.message})`);
  }
  if (/^\d+ \d+( \d+ \d+)?$/.test(holders)) return holders;
  return fail(`${path} is not what an installation or build made; remove it (it names '${holders}')`);
}

function livingOf(holders) {
  const words = holders.split(' ');
  return words.find((pid, index) => index % 2 === 0 && identityOf(pid) === `${pid} ${words[index + 1]}`);
}

/** `<pid> <start time>`; undefined of one that has ended, as a zombie has: not every init of a container waits for orphans. */
function identityOf(pid) {
  const stat = readStat(pid);
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields === undefined || ['Z', 'X'].includes(fields[0]) ? undefined : `${pid} ${fields[19]}`;
}

function readStat(pid) {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch (error) {
    // it ends while it is read
    if (['ENOENT', 'ESRCH'].includes(error.code)) return undefined;
    throw error;
  }
}
