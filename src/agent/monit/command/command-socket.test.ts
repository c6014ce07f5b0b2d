import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { helloJob } from '../../testing/hello-job.ts';
import { eventually } from '../../testing/eventually.ts';
import { pidOf, reaches, specWith } from '../../testing/specs.ts';
import { TestVm } from '../../testing/test-vm.ts';

interface Ended {
  readonly code: number;
  readonly output: string;
  readonly error: string;
}

/** Runs the program that the script /var/vcap/bosh/bin/monit runs. */
function monit(vm: TestVm, ...argv: readonly string[]): Promise<Ended> {
  const main = join(import.meta.dirname, '../../main.ts');
  const args = [main, 'monit', vm.directories.monitSocket, ...argv];
  return new Promise((resolve) => {
    execFile(process.execPath, args, (failure, output, error) =>
      resolve({ code: Number(failure?.code ?? 0), output, error }),
    );
  });
}

test('the monit command reaches the supervisor of a VM', async (t) => {
  const vm = await TestVm.create();
  t.after(() => vm.remove());
  const client = await vm.start();
  await client.task('apply', await specWith(client, helloJob(vm.directories)));
  await client.value('start');
  await reaches(client, 'running');
  assert.match((await monit(vm, 'summary')).output, /^Process 'hello' {21}running$/m);

  const first = await pidOf(vm, 'hello');
  assert.equal((await monit(vm, 'restart', 'hello')).code, 0);
  await eventually('another process', async () => {
    const { output } = await monit(vm, 'status');
    const pid = /^ {2}pid {31}(\d+)$/m.exec(output)?.[1];
    return pid === undefined || pid === String(first) ? undefined : true;
  });

  assert.equal((await monit(vm, 'stop', '-g', 'vcap')).code, 0);
  await eventually('a stop', async () =>
    /^Process 'hello' {21}not monitored$/m.test((await monit(vm, 'summary')).output) ? true : undefined,
  );
  await vm.stop();
  const ended = await monit(vm, 'summary');
  assert.deepEqual(ended, {
    code: 1,
    output: '',
    error: 'monit: error connecting to the monit daemon: the agent is not running\n',
  });
  await vm.start();
  assert.match((await monit(vm, 'summary')).output, /^Process 'hello' {21}not monitored$/m);
});

test('rejects malformed requests, and ends only their connections', async (t) => {
  const vm = await TestVm.create();
  t.after(() => vm.remove());
  await vm.start();
  for (const request of [
    'no json\n',
    '{"words":[1]}\n',
    '{"words":"summary"}\n',
    '[]\n',
    'x'.repeat(100_000),
  ]) {
    const socket = connect(vm.directories.monitSocket);
    await once(socket, 'connect');
    socket.write(request);
    assert.match(await text(socket), /the request is not a list of strings/);
  }
  assert.equal((await monit(vm, '-V')).code, 0);
});
