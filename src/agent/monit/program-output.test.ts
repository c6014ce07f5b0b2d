import assert from 'node:assert/strict';
import { mkdtemp, open, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { isObject } from '../../platform/json.ts';
import { eventually } from '../testing/eventually.ts';
import { specWith } from '../testing/specs.ts';
import { TestVm } from '../testing/test-vm.ts';
import { ProgramOutput } from './program-output.ts';

const log = { info: () => undefined, error: () => undefined };

test('truncates a large file, and its writers continue in it', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'output-'));
  t.after(() => rm(directory, { recursive: true }));
  const output = new ProgramOutput(directory, log);
  const path = output.pathOf('a/b');
  assert.equal(path, join(directory, 'a%2Fb.log'));
  assert.equal(await output.tail('a/b'), '');
  await output.rotate('a/b');
  output.with('a/b', (descriptor) => assert.ok(descriptor !== undefined));
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  // A daemon that inherited the descriptor.
  const daemon = await open(path, 'a');
  t.after(() => daemon.close());
  await daemon.write('before\n');
  await output.rotate('a/b');
  assert.equal(await output.tail('a/b'), 'before');
  await daemon.write('x'.repeat(1024 ** 2));
  await output.rotate('a/b');
  await daemon.write('one\ntwo\n');
  assert.equal(await readFile(path, 'utf8'), 'one\ntwo\n');
  assert.match(await readFile(`${path}.1`, 'utf8'), /^before\nx+$/);
  assert.equal(await output.tail('a/b'), 'one\ntwo');
});

test('get_state shows the exit and the output of a start program', async (t) => {
  const vm = await TestVm.create();
  t.after(() => vm.remove());
  const client = await vm.start();
  const monit = `check process web with pidfile ${vm.directories.run}/web/web.pid
  start program "${vm.directories.jobs}/web/bin/ctl"
  group vcap
`;
  const ctl = '#!/bin/bash\necho "no port" ; echo "of $0" >&2; exit 4\n';
  await client.task('apply', await specWith(client, { './web/monit': monit, './web/bin/ctl': ctl }));
  await client.value('start');
  const event = await eventually('a failure', async () => {
    const state = await client.value('get_state');
    const [process]: unknown[] =
      isObject(state) && Array.isArray(state['processes']) ? state['processes'] : [];
    return isObject(process) && process['state'] === 'failing' ? process : undefined;
  });
  assert.equal(event['last_exit'], 'exited with 4');
  assert.match(String(event['output']), new RegExp(`no port\nof ${vm.directories.jobs}/web/bin/ctl$`));
  await client.task('stop');
});

test('get_state shows the exit of a start program while the next one runs', async (t) => {
  const vm = await TestVm.create();
  t.after(() => vm.remove());
  const client = await vm.start();
  const monit = `check process web with pidfile ${vm.directories.run}/web/web.pid
  start program "${vm.directories.jobs}/web/bin/ctl"
  group vcap
`;
  const first = `${vm.directories.run}/web/first`;
  const ctl = `#!/bin/bash\nif [ -e ${first} ]; then echo again; exec sleep 20; fi\ntouch ${first}; exit 4\n`;
  await client.task('apply', await specWith(client, { './web/monit': monit, './web/bin/ctl': ctl }));
  await client.value('start');
  const processOf = async (): Promise<Record<string, unknown> | undefined> => {
    const state = await client.value('get_state');
    const [process]: unknown[] =
      isObject(state) && Array.isArray(state['processes']) ? state['processes'] : [];
    return isObject(process) ? process : undefined;
  };
  await eventually('a second start', async () =>
    (await processOf())?.['output'] === 'again' ? true : undefined,
  );
  assert.equal((await processOf())?.['last_exit'], 'exited with 4');
  await client.task('stop');
});
