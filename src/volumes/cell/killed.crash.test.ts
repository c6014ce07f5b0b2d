import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { until } from '../../../test/support/until.ts';
import { cleanUpOrphans } from './containers.ts';
import { mountInfo, notRoot, testCell, type TestCell } from './testing/test-cell.ts';

const skip = notRoot;
const program = join(import.meta.dirname, 'testing', 'killed-cell.ts');
/** The steps of an app with two volumes: record, folders, two mounts, start, end, two unmounts, forget. */
const steps = 9;

/** Runs a cell that kills itself at a step. Returns the signal that ended it, or undefined. */
async function cellProcess(
  directory: string,
  number: number,
  started?: (pid: number) => void,
): Promise<unknown> {
  const child = spawn(process.execPath, [program, directory, String(number)], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  started?.(child.pid ?? 0);
  const [, signal] = (await once(child, 'exit')) as [number | null, string | null];
  return signal ?? undefined;
}

async function processesOf(directory: string): Promise<readonly string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/u.test(name));
  const lines = await Promise.all(
    pids.map(async (pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')),
  );
  return lines.filter((line) => line.includes(directory));
}

async function repairAll({ directory, driver, ports, logged }: TestCell, before: string): Promise<void> {
  await until('the end of the app', async () => (await processesOf(directory)).length === 0);
  await ports.volman.scan();
  assert.deepEqual(await cleanUpOrphans(ports), [], logged.join('\n'));
  assert.equal(await mountInfo(directory), before);
  assert.equal(driver.volumes.size, 0);
  assert.deepEqual(
    [await readdir(join(directory, 'apps')), await readdir(join(directory, 'mounts'))],
    [[], []],
  );
  assert.deepEqual(
    (await readdir(join(directory, 'state'))).filter((name) => name !== 'records.lock'),
    [],
  );
}

test('after a kill -9 at any step, a repair leaves nothing mounted', { skip }, async (t) => {
  const cell = await testCell(t);
  const before = await mountInfo(cell.directory);
  for (let number = 1; number <= steps; number += 1) {
    assert.equal(await cellProcess(cell.directory, number), 'SIGKILL', `it has no step ${number}`);
    await repairAll(cell, before);
  }
  assert.equal(await cellProcess(cell.directory, steps + 1), undefined);
  await repairAll(cell, before);
});

test('a mount that was made while its cell was killed is found', { skip }, async (t) => {
  const cell = await testCell(t);
  const { driver, directory } = cell;
  const before = await mountInfo(cell.directory);
  const { mount } = driver;
  let pid = 0;
  let mounted = 0;
  driver.mount = async (name) => {
    if (mounted === 0) process.kill(pid, 'SIGKILL');
    const path = await mount(name);
    mounted += 1;
    return path;
  };
  await cellProcess(directory, 0, (started) => {
    pid = started;
  });
  const mountCount = (): number => driver.requests.filter((request) => request.startsWith('Mount ')).length;
  await until('the mounts', async () => mounted >= 1 && mounted === mountCount());
  driver.mount = mount;
  assert.equal((await readdir(join(directory, 'state'))).includes('app-1.container.json'), true);
  await repairAll(cell, before);
});

test('a repair leaves a living cell alone', { skip }, async (t) => {
  const cell = await testCell(t);
  const { driver, directory, ports } = cell;
  const { mount } = driver;
  const before = await mountInfo(cell.directory);
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  driver.mount = async (name) => {
    const path = await mount(name);
    await held;
    return path;
  };
  const living = cellProcess(directory, 0);
  await until(
    'its mounts',
    async () => driver.volumes.size === 2 && (await readdir(join(directory, 'mounts'))).length === 2,
  );
  await ports.volman.scan();
  assert.deepEqual(await cleanUpOrphans(ports), []);
  assert.equal(driver.volumes.size, 2);
  release();
  assert.equal(await living, undefined);
  await repairAll(cell, before);
});
