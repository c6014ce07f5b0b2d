import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, readlink, stat, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { callAgent } from './monit/command/command-socket.ts';
import { procProcessTable } from './process/process-table.ts';
import { isObject } from '../platform/json.ts';
import { eventually } from './testing/eventually.ts';
import { helloJob } from './testing/hello-job.ts';
import { compile, emptySpec, jobState, pidOf, reaches, specWith } from './testing/specs.ts';
import { TestVm } from './testing/test-vm.ts';

test('create-env brings up a VM with a disk, two packages and a job, and takes it down', async (t) => {
  const vm = await TestVm.create();
  t.after(() => vm.remove());
  const client = await vm.start();
  const { directories } = vm;
  const disk = join(directories.base, 'hub', 'disk-1');
  await mkdir(join(disk, 'store'), { recursive: true });
  vm.mounts.addVolume(disk);

  assert.equal(await client.value('ping'), 'pong');
  assert.deepEqual(await client.task('add_persistent_disk', 'disk-1', { path: join(disk, 'store') }), {});
  assert.deepEqual(await client.task('mount_disk', 'disk-1'), {});
  assert.deepEqual(await client.value('list_disk'), ['disk-1']);
  assert.equal(await readFile(join(directories.bosh, 'managed_disk_settings.json'), 'utf8'), 'disk-1');

  assert.equal(await client.task('apply', emptySpec), 'applied');
  const before = await client.value('get_state');
  assert.ok(isObject(before));
  assert.equal(before['agent_id'], 'agent-1');
  assert.deepEqual(before['vm'], { name: 'vm-agent-1' });

  const dependency = await compile(
    client,
    'hello_dep',
    {},
    {
      packaging:
        'set -e\nmkdir $BOSH_INSTALL_TARGET/lib\necho dep > $BOSH_INSTALL_TARGET/lib/dep.txt\nln -s /usr/bin/env $BOSH_INSTALL_TARGET/env',
    },
  );
  const compiled = await compile(
    client,
    'hello_pkg',
    { hello_dep: dependency },
    {
      './packaging': `set -e
cp ${directories.packages}/hello_dep/lib/dep.txt $BOSH_INSTALL_TARGET/copied.txt
echo "$BOSH_PACKAGE_NAME $BOSH_PACKAGE_VERSION $PWD" > $BOSH_INSTALL_TARGET/names.txt
[ "$BOSH_COMPILE_TARGET" = "$PWD" ]`,
    },
  );

  assert.equal(await client.task('stop'), 'stopped');
  const spec = await specWith(client, helloJob(directories), { hello_dep: dependency, hello_pkg: compiled });
  assert.equal(await client.task('apply', spec), 'applied');
  assert.equal(await jobState(client), 'stopped');
  const job = await readlink(join(directories.jobs, 'hello'));
  assert.ok(job.startsWith(join(directories.dataJobs, 'hello')));
  assert.equal((await stat(join(job, 'config/secret.yml'))).mode & 0o777, 0o640);
  assert.equal((await stat(join(job, 'bin/ctl'))).mode & 0o777, 0o750);
  assert.equal(await readFile(join(directories.packages, 'hello_pkg/copied.txt'), 'utf8'), 'dep\n');
  assert.equal(
    await readFile(join(job, 'packages/hello_pkg/names.txt'), 'utf8'),
    `hello_pkg hello_pkg-fp ${directories.compile}/hello_pkg\n`,
  );
  assert.equal(await readlink(join(directories.packages, 'hello_dep/env')), '/usr/bin/env');
  assert.equal(await readFile(join(directories.instance, 'deployment'), 'utf8'), 'tiny-env');
  assert.equal((await client.send('GET', '/blobs/33/rendered')).status, 404);

  assert.deepEqual(await client.task('run_script', 'pre-start', { env: { COLOUR: 'blue' } }), {});
  assert.equal(
    await readFile(join(directories.log, 'hello/pre-start.stdout.log'), 'utf8'),
    'pre-start with /usr/sbin:/usr/bin:/sbin:/bin and blue\n',
  );
  assert.equal(await client.value('start'), 'started');
  await reaches(client, 'running');
  const health = (): Promise<string> => readFile(join(directories.instance, 'health.json'), 'utf8');
  await eventually('health.json', async () =>
    (await health()) === '{"state":"running"}' ? true : undefined,
  );
  assert.equal((await stat(join(directories.instance, 'health.json'))).mode & 0o777, 0o644);
  assert.deepEqual(await client.task('run_script', 'post-start', {}), {});
  assert.equal(await readFile(join(directories.log, 'hello/post-start.stderr.log'), 'utf8'), 'post-start\n');
  const full = await client.value('get_state', 'full');
  assert.ok(isObject(full) && isObject(full['vitals']) && Array.isArray(full['processes']));

  assert.deepEqual(await client.task('run_script', 'pre-stop', {}), {});
  assert.equal(await client.task('drain', 'shutdown', {}), 0);
  assert.equal(await health(), '{"state":"failing"}');
  assert.equal(
    await readFile(join(directories.log, 'hello/drain-arguments'), 'utf8'),
    'job_shutdown hash_unchanged\n',
  );
  const pid = await pidOf(vm, 'hello');
  assert.equal(await client.task('stop'), 'stopped');
  assert.equal(await procProcessTable.find(pid), undefined);
  assert.equal(await health(), '{"state":"stopped"}');
  assert.equal(await jobState(client), 'stopped');
  assert.deepEqual(await client.task('run_script', 'post-stop', {}), {});
  assert.deepEqual(await client.value('list_disk'), ['disk-1']);
  assert.deepEqual(await client.task('unmount_disk', 'disk-1'), {
    message: 'Unmounted partition of disk disk-1',
  });
  assert.deepEqual(await client.value('list_disk'), []);
  assert.ok(!vm.lines.join('\n').includes(vm.password));
});

test('settings are cached, and the cache is used if their source does not exist', async (t) => {
  const vm = await TestVm.create();
  t.after(() => vm.remove());
  await vm.start();
  await vm.stop();
  const cache = join(vm.directories.bosh, 'settings.json');
  assert.equal((await stat(cache)).mode & 0o777, 0o600);
  await writeFile(vm.configPath, (await readFile(vm.configPath, 'utf8')).replace('warden-cpi', 'gone'));
  assert.equal(await (await vm.start()).value('ping'), 'pong');
});

test('an agent of create-env refuses a blobstore of a director when it starts', async (t) => {
  for (const provider of ['dav', 's3']) {
    const blobstores = [{ provider, options: { endpoint: 'https://blobs.example' } }];
    const vm = await TestVm.create(undefined, { blobstores });
    t.after(() => vm.remove());
    await assert.rejects(vm.start(), {
      code: 'AGENT_SETTINGS_INVALID',
      message: new RegExp(`blobstore provider '${provider}'.*use the provider 'local'`, 'u'),
    });
  }
});

test('an agent whose bus cannot listen serves no monit command', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  t.after(() => taken.close());
  const { port } = taken.address() as AddressInfo;
  const vm = await TestVm.create(undefined, {}, { mbus: `https://mbus:secret@127.0.0.1:${port}` });
  t.after(() => vm.remove());
  await assert.rejects(vm.start(), /EADDRINUSE/u);
  const { code, error } = await callAgent(vm.directories.monitSocket, ['summary']);
  assert.equal(code, 1);
  assert.match(error, /the agent is not running/u);
});

test("the agent's version is the product's", async () => {
  const { version } = JSON.parse(await readFile(join(import.meta.dirname, '../../package.json'), 'utf8')) as {
    version: string;
  };
  const main = join(import.meta.dirname, 'main.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [main, '-v']);
  assert.equal(stdout, `bosh-kubernetes embedded agent ${version}\n`);
});
