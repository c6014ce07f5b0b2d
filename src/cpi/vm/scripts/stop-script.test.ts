import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { preStopScript, stopScript } from './prepare-and-stop.ts';

const run = promisify(execFile);

async function scratch(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'stop-'));
  t.after(() => rm(folder, { recursive: true }));
  return folder;
}

test('PID 1 gets TERM, and SIGRTMIN+3 where it is systemd', async (t) => {
  const folder = await scratch(t);
  const told = async (booted: string): Promise<string> => {
    const script = `kill() { echo "$*"; }\n${stopScript.replaceAll('/run/systemd/system', booted)}`;
    return (await run('/bin/sh', ['-c', script])).stdout;
  };
  assert.equal(await told(join(folder, 'none')), '-TERM 1\n');
  assert.equal(await told(folder), '-37 1\n');
});

test('the hook before the end leaves its marker in the hub, and tells PID 1 where there is no hub too', async (t) => {
  const folder = await scratch(t);
  for (const hub of [folder, join(folder, 'none')]) {
    const hook = preStopScript.replaceAll('/warden-cpi-dev', hub);
    const script = `kill() { echo "$*"; }\n${hook.replaceAll('/run/systemd/system', join(folder, 'no'))}`;
    assert.equal((await run('/bin/sh', ['-c', script])).stdout, '-TERM 1\n');
  }
  assert.deepEqual(await readdir(join(folder, '.going')), []);
});

const namespaces = ['--user', '--map-root-user', '--pid', '--fork', '--kill-child', '--mount-proc'];

/** Ends on TERM at once and restarts what has ended, as runsvdir does; its first argument is /etc/service. */
const runsvdir = `#!/bin/sh
trap 'echo runsvdir >> "$2"; exit 0' TERM
sh -c "$3" stop &
while :; do
  [ ! -e "$1/job" ] || [ -e /proc/$job ] || { "$1/job" "$2" & job=$!; }
  sleep 0.1 &
  wait "$!"
done
`;

test('runit: jobs are asked to end and are not started again, then PID 1 goes', async (t) => {
  const probe = spawnSync('unshare', [...namespaces, 'true']);
  if (probe.status !== 0) return t.skip(`needs user and pid namespaces: ${probe.stderr.toString()}`);
  const folder = await scratch(t);
  const [service, said] = [join(folder, 'service'), join(folder, 'said')];
  await mkdir(service);
  await writeFile(join(folder, 'runsvdir'), runsvdir.replace('/proc/$job', '/proc/${job:-none}'), {
    mode: 0o755,
  });
  const job = `#!/bin/sh
trap 'sleep 1; echo job >> "$1"; exit' TERM
: > "$1.runs"
while :; do sleep 0.1; done
`;
  await writeFile(join(service, 'job'), job, { mode: 0o755 });
  const stop = stopScript.replaceAll('/etc/service', service);
  const whenItRuns = `until [ -e ${said}.runs ]; do sleep 0.1; done\n${stop}`;
  await run('unshare', [...namespaces, join(folder, 'runsvdir'), service, said, whenItRuns]);
  assert.equal(await readFile(said, 'utf8'), 'job\nrunsvdir\n');
});
