import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { until } from '../../../test/support/until.ts';
import { runApp } from './run-app.ts';
import { mountInfo, notRoot, testCell } from './testing/test-cell.ts';

const skip =
  notRoot !== false
    ? notRoot
    : !existsSync('/usr/bin/bindfs') || !existsSync('/dev/fuse')
      ? "needs Debian's package bindfs, and /dev/fuse"
      : false;

test(
  'an app that waits for a dead file server is ended, and its volume is unmounted',
  { skip },
  async (t) => {
    const { directory, driver, ports, stopping, logged, volume, spec } = await testCell(t);
    const photos = await volume('photos');
    await writeFile(join(directory, 'shares/photos/file'), 'x');
    await ports.volman.scan();
    const before = await mountInfo(directory);
    let helper = 0;
    driver.mount = async (name) => {
      const target = join(directory, 'mounts', name);
      await mkdir(target);
      // without caches each access reaches the FUSE server
      const options = 'attr_timeout=0,entry_timeout=0,nosuid,nodev';
      const child = spawn('bindfs', ['-f', '-o', options, join(directory, 'shares/photos'), target], {
        stdio: 'ignore',
      });
      t.after(() => child.kill('SIGKILL'));
      helper = child.pid ?? 0;
      await until('the helper', async () => (await mountInfo(directory)).includes(` ${target} `));
      return target;
    };
    const script = 'trap "" TERM; echo > "$1/up"; while :; do cat "$1/file"; done > /dev/null 2>&1';
    const deadlines = { ...ports.deadlines, grace: 0.2, kill: 2 };
    const running = runApp(spec(['sh', '-c', script, 'sh', photos.containerDir], [photos]), {
      ...ports,
      deadlines,
    });
    await until('the app', async () => existsSync(join(directory, 'shares/photos/up')));
    process.kill(helper, 'SIGSTOP');
    await until('the app in a request', async () => (await waiting(helper)) > 0);
    stopping.abort();
    assert.equal(await running, 137, logged.join('\n'));
    assert.equal(await mountInfo(directory), before);
    assert.equal(driver.volumes.size, 0);
  },
);

/** Returns the number of processes that wait in the kernel for a response of FUSE. */
async function waiting(helper: number): Promise<number> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/u.test(name) && Number(name) !== helper);
  const waitChannels = await Promise.all(
    pids.map(async (pid) => readFile(`/proc/${pid}/wchan`, 'utf8').catch(() => '')),
  );
  return waitChannels.filter((waitChannel) => waitChannel.includes('request_wait_answer')).length;
}
