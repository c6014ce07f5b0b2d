import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { until } from '../../test/support/until.ts';

const namespaces = ['--user', '--map-root-user', '--mount', '--pid', '--fork', '--kill-child'];
const probe = spawnSync('unshare', [...namespaces, 'true'], { encoding: 'utf8' });
const skip =
  probe.status !== 0 && `needs user, mount and pid namespaces: ${probe.error?.message ?? probe.stderr}`;

test('a cluster changes nothing while a process of its previous run is left', { skip }, async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-earlier-'));
  t.after(() => rm(directory, { recursive: true }));
  const previous = spawn('sleep', ['1000'], { stdio: 'ignore' });
  t.after(() => previous.kill('SIGKILL'));
  await once(previous, 'spawn');
  const stat = await readFile(`/proc/${previous.pid}/stat`, 'utf8');
  const started = stat.slice(stat.lastIndexOf(') ') + 2).split(' ')[19];
  const boot = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
  const record = `${previous.pid} ${started} ${boot}\n`;
  await writeFile(join(directory, 'process'), record);
  const began = join(directory, 'began');
  const program = join(directory, 'program');
  await writeFile(program, `#!/bin/sh\ntouch ${began}\nexit 9\n`, { mode: 0o755 });

  const init = [
    '/bin/sh',
    join(import.meta.dirname, 'init.sh'),
    directory,
    program,
    'prepare',
    'runtime',
    program,
  ];
  // Records that init.sh waits: its sleep between two checks is too short to be seen in /proc.
  const waited = join(directory, 'waited');
  const programs = join(directory, 'programs');
  await mkdir(programs);
  await writeFile(join(programs, 'sleep'), `#!/bin/sh\ntouch ${waited}\nexec /bin/sleep "$@"\n`, {
    mode: 0o755,
  });
  const env = { ...process.env, PATH: `${programs}:${process.env['PATH']}` };
  const next = spawn('unshare', [...namespaces, ...init], { stdio: 'ignore', env });
  const ended = once(next, 'exit');
  await until('it to wait, or to begin', () => Promise.resolve(existsSync(began) || existsSync(waited)));

  assert.equal(existsSync(began), false);
  assert.equal(await readFile(join(directory, 'process'), 'utf8'), record);
  previous.kill('SIGKILL');
  assert.deepEqual(await ended, [9, null]);
  assert.equal(existsSync(began), true);
  assert.notEqual(await readFile(join(directory, 'process'), 'utf8'), record);
});
