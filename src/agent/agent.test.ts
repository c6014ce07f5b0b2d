import assert from 'node:assert/strict';
import { mkdir, readFile, readlink, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { procProcessTable } from './process/proc-process-table.ts';
import { isObject } from './settings/json.ts';
import type { AgentClient } from './testing/agent-client.ts';
import { makeArchive, sha1, sha256 } from './testing/archives.ts';
import type { ArchiveEntry } from './testing/archives.ts';
import { eventually } from './testing/eventually.ts';
import { helloJob } from './testing/hello-job.ts';
import { TestVm } from './testing/test-vm.ts';

const network = { type: 'manual', ip: '127.0.0.1', netmask: '255.0.0.0', gateway: '127.0.0.254' };

const emptySpec = {
  deployment: 'tiny-env',
  name: 'hello',
  index: 0,
  id: '0',
  az: 'unknown',
  packages: {},
  networks: { default: network },
  job: { name: 'hello', templates: [] },
  rendered_templates_archive: { blobstore_id: '', sha1: '' },
  configuration_hash: 'unused-configuration-hash',
};

async function upload(client: AgentClient, id: string, files: Record<string, ArchiveEntry>): Promise<string> {
  const archive = await makeArchive(files);
  assert.equal((await client.send('PUT', `/blobs/33/${id}`, archive)).status, 201);
  return `${sha1(archive)};${sha256(archive)}`;
}

async function specWith(
  client: AgentClient,
  files: Record<string, ArchiveEntry>,
  packages: unknown = {},
): Promise<unknown> {
  const digest = await upload(client, 'rendered', files);
  const names = new Set(Object.keys(files).map((path) => path.replace('./', '').split('/')[0]));
  return {
    ...emptySpec,
    packages,
    job: {
      name: 'hello',
      templates: [...names].map((name) => ({ name, version: `${name}-fp`, sha1: '', blobstore_id: '' })),
    },
    rendered_templates_archive: { blobstore_id: 'rendered', sha1: digest },
  };
}

async function jobState(client: AgentClient): Promise<unknown> {
  const state = await client.value('get_state');
  assert.ok(isObject(state));
  return state['job_state'];
}

const reaches = (client: AgentClient, state: string): Promise<true> =>
  eventually(`job_state ${state}`, async () => ((await jobState(client)) === state ? true : undefined));

async function pidOf(vm: TestVm, name: string): Promise<number> {
  const path = join(vm.directories.run, name, `${name}.pid`);
  return Number(await readFile(path, 'utf8'));
}

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
  assert.deepEqual(await client.task('run_script', 'post-start', {}), {});
  assert.equal(await readFile(join(directories.log, 'hello/post-start.stderr.log'), 'utf8'), 'post-start\n');
  const full = await client.value('get_state', 'full');
  assert.ok(isObject(full) && isObject(full['vitals']) && Array.isArray(full['processes']));

  assert.deepEqual(await client.task('run_script', 'pre-stop', {}), {});
  assert.equal(await client.task('drain', 'shutdown', {}), 0);
  assert.equal(
    await readFile(join(directories.log, 'hello/drain-arguments'), 'utf8'),
    'job_shutdown hash_unchanged\n',
  );
  const pid = await pidOf(vm, 'hello');
  assert.equal(await client.task('stop'), 'stopped');
  assert.equal(await procProcessTable.find(pid), undefined);
  assert.equal(await jobState(client), 'stopped');
  assert.deepEqual(await client.task('run_script', 'post-stop', {}), {});
  assert.deepEqual(await client.value('list_disk'), ['disk-1']);
  assert.deepEqual(await client.task('unmount_disk', 'disk-1'), {
    message: 'Unmounted partition of disk disk-1',
  });
  assert.deepEqual(await client.value('list_disk'), []);
  assert.ok(!vm.lines.join('\n').includes(vm.password));
});

async function compile(
  client: AgentClient,
  name: string,
  dependencies: unknown,
  files: Record<string, ArchiveEntry>,
): Promise<Record<string, string>> {
  const digest = await upload(client, `${name}-source`, files);
  const value = await client.task(
    'compile_package',
    `${name}-source`,
    digest,
    name,
    `${name}-fp`,
    dependencies,
  );
  assert.ok(isObject(value) && isObject(value['result']));
  const { blobstore_id: id, sha1: digestOfResult } = value['result'];
  const blob = await client.send('GET', `/blobs/00/${String(id)}`);
  assert.equal(sha1(blob.body), digestOfResult);
  return { name, version: `${name}-fp`, sha1: String(digestOfResult), blobstore_id: String(id) };
}

test('a daemon that forked twice is started again after kill -9, and known again by the next agent', async (t) => {
  const vm = await TestVm.create();
  t.after(() => vm.remove());
  let client = await vm.start();
  await client.task('apply', await specWith(client, helloJob(vm.directories)));
  await client.value('start');
  await reaches(client, 'running');

  const first = await pidOf(vm, 'hello');
  process.kill(first, 'SIGKILL');
  const second = await eventually('another pid', async () => {
    const pid = await pidOf(vm, 'hello');
    return pid === first ? undefined : pid;
  });
  await reaches(client, 'running');

  await vm.stop();
  process.kill(second, 0);
  client = await vm.start();
  await reaches(client, 'running');
  assert.equal(await pidOf(vm, 'hello'), second);
  assert.equal(await readFile(join(vm.directories.log, 'hello/starts'), 'utf8'), 'started\nstarted\n');

  assert.equal(await client.task('stop'), 'stopped');
  assert.equal(await procProcessTable.find(second), undefined);
  await vm.stop();
  client = await vm.start();
  assert.equal(await jobState(client), 'stopped');
  await client.value('start');
  await reaches(client, 'running');
  await client.task('stop');
});

test('after a restart every job of the last apply runs again, and waits for its disk', async (t) => {
  const vm = await TestVm.create();
  t.after(() => vm.remove());
  let client = await vm.start();
  const disk = join(vm.directories.base, 'hub', 'disk-1');
  await mkdir(join(disk, 'store'), { recursive: true });
  vm.mounts.addVolume(disk);
  await client.task('add_persistent_disk', 'disk-1', { path: join(disk, 'store') });
  await client.task('mount_disk', 'disk-1');
  await client.task('apply', await specWith(client, helloJob(vm.directories)));
  await client.value('start');
  await reaches(client, 'running');
  const before = await pidOf(vm, 'hello');
  await vm.stop();

  // what a container's restart does: processes and mounts gone, the attachment not back yet
  process.kill(before, 'SIGKILL');
  await vm.mounts.unmount(vm.directories.store);
  vm.mounts.removeVolume(disk);
  await rename(join(disk, 'store'), join(disk, 'away'));
  client = await vm.start();
  assert.equal(await jobState(client), 'failing');
  await assert.rejects(client.value('start'), /jobs are not started: disk 'disk-1' is not attached/);
  await assert.rejects(client.task('run_script', 'pre-start', {}), /disk 'disk-1' is not attached/);
  assert.equal(await readFile(join(vm.directories.log, 'hello/starts'), 'utf8'), 'started\n');

  vm.mounts.addVolume(disk);
  await rename(join(disk, 'away'), join(disk, 'store'));
  await reaches(client, 'running');
  assert.deepEqual(await client.value('list_disk'), ['disk-1']);
  assert.notEqual(await pidOf(vm, 'hello'), before);
  await client.task('stop');
});

test('the bus refuses strangers, bad bodies, other paths and ids that are no file names', async (t) => {
  const vm = await TestVm.create();
  t.after(() => vm.remove());
  const client = await vm.start();
  const wrong = `Basic ${Buffer.from('mbus:wrong').toString('base64')}`;
  assert.equal((await client.send('POST', '/agent', '{"method":"ping"}', wrong)).status, 401);
  assert.equal((await client.send('PUT', '/blobs/1/x', 'data', '')).status, 401);
  assert.equal((await client.send('GET', '/agent')).status, 404);
  assert.equal((await client.send('POST', '/other')).status, 404);
  assert.equal((await client.send('POST', '/agent', 'no json')).status, 400);
  assert.equal((await client.send('POST', '/agent', '{"arguments":[]}')).status, 400);
  assert.equal((await client.send('GET', '/blobs/00/nothing')).status, 404);
  assert.equal((await client.send('DELETE', '/blobs/00/nothing')).status, 404);
  for (const id of ['..', '%2e%2e', '.partial-1', 'a%2fb', '%00', '%zz']) {
    assert.equal((await client.send('PUT', `/blobs/00/${id}`, 'data')).status, 400, id);
  }
  assert.equal((await client.send('PUT', '/blobs/00/mine', 'data')).status, 201);
  const read = await client.send('GET', '/blobs/ff/mine');
  assert.deepEqual([read.status, read.body.toString()], [200, 'data']);
  assert.equal((await stat(join(vm.directories.blobs, 'mine'))).mode & 0o777, 0o600);
  assert.deepEqual(await client.call('sync_dns'), { exception: { message: 'unknown message sync_dns' } });
  await assert.rejects(client.value('get_task', 'none'), /Task with id none could not be found/);
});

test('a failed compilation tells the exit and the last output, and leaves nothing', async (t) => {
  const vm = await TestVm.create();
  t.after(() => vm.remove());
  const client = await vm.start();
  const digest = await upload(client, 'source', { packaging: 'echo to stdout\necho to stderr >&2\nexit 7' });
  await assert.rejects(
    client.task('compile_package', 'source', digest, 'broken', '1', {}),
    /Command exited with 7;\nStdout: to stdout\n,\nStderr: [^]*to stderr/,
  );
  await assert.rejects(
    client.task('compile_package', 'source', 'sha256:'.padEnd(71, '0'), 'broken', '1', {}),
    /source of package 'broken' \(blob 'source'\) has sha256/,
  );
  await assert.rejects(client.task('compile_package', 'gone', digest, 'broken', '1', {}), /no blob 'gone'/);
  await assert.rejects(client.task('compile_package', 'source', digest, '../up', '1', {}), /not a name/);
  await assert.rejects(readlink(join(vm.directories.packages, 'broken')), /ENOENT/);
  await assert.rejects(stat(join(vm.directories.compile, 'broken')), /ENOENT/);
});

test('what a job cannot have here is refused at apply, and the VM stays as it was', async (t) => {
  const vm = await TestVm.create();
  t.after(() => vm.remove());
  const client = await vm.start();
  await client.task('apply', await specWith(client, helloJob(vm.directories)));
  const link = await readlink(join(vm.directories.jobs, 'hello'));
  const spec = await readFile(join(vm.directories.bosh, 'spec.json'), 'utf8');
  const files: Record<string, ArchiveEntry> = {
    ...helloJob(vm.directories),
    './hello/extra.monit': '\ncheck file x with path /x\n',
  };
  await assert.rejects(
    client.task('apply', await specWith(client, files)),
    /job 'hello': monit line 2, column 1: the agent does not know the clause 'check file x with path \/x' yet/,
  );
  const owned = String(files['./hello/monit']).replace('with timeout', 'as uid nobody-here with timeout');
  await assert.rejects(
    client.task('apply', await specWith(client, { ...helloJob(vm.directories), './hello/monit': owned })),
    /job 'hello': the user 'nobody-here' of its monit file is unknown/,
  );
  await assert.rejects(
    client.task('apply', { ...emptySpec, networks: { other: {} } }),
    /Network 'other' is not found in settings/,
  );
  assert.equal(await readlink(join(vm.directories.jobs, 'hello')), link);
  assert.equal(await readFile(join(vm.directories.bosh, 'spec.json'), 'utf8'), spec);
});

test('failing scripts name their jobs, and pre-stop and drain abort', async (t) => {
  const vm = await TestVm.create();
  t.after(() => vm.remove());
  const client = await vm.start();
  const script = (text: string): string => `#!/bin/bash\n${text}\n`;
  const files = {
    './good/bin/pre-start': script('true'),
    './good/bin/drain': script('echo 0'),
    './bad/bin/pre-start': script('exit 1'),
    './bad/bin/pre-stop': script('exit 3'),
    './bad/bin/drain': script('echo 0; exit 1'),
    './dynamic/bin/drain': script('echo -5'),
    './silent/bin/post-stop': script('kill -9 $$'),
  };
  await client.task('apply', await specWith(client, files));
  await assert.rejects(
    client.task('run_script', 'pre-start', {}),
    /1 of 2 pre-start scripts failed\. Failed Jobs: bad\. Successful Jobs: good\.$/,
  );
  await assert.rejects(
    client.task('run_script', 'pre-stop', {}),
    /1 of 1 pre-stop scripts failed\. Failed Jobs: bad\.$/,
  );
  await assert.rejects(client.task('run_script', 'post-stop', {}), /Failed Jobs: silent\./);
  await assert.rejects(
    client.task('drain', 'shutdown', {}),
    /1 of 3 drain scripts failed\. Failed Jobs: bad\./,
  );
  await assert.rejects(client.task('run_script', '../../x', {}), /there is no script/);
  await assert.rejects(client.task('drain', 'status'), /Unexpected call with drain type 'status'/);
  await client.task('apply', await specWith(client, { './dynamic/bin/drain': script('echo -5') }));
  await assert.rejects(
    client.task('drain', 'shutdown'),
    /dynamic drain.*not supported yet; answered by dynamic \(-5\)/,
  );
});

test('settings are cached, and serve when their source is gone', async (t) => {
  const vm = await TestVm.create();
  t.after(() => vm.remove());
  await vm.start();
  await vm.stop();
  const cache = join(vm.directories.bosh, 'settings.json');
  assert.equal((await stat(cache)).mode & 0o777, 0o600);
  await writeFile(vm.configPath, (await readFile(vm.configPath, 'utf8')).replace('warden-cpi', 'gone'));
  assert.equal(await (await vm.start()).value('ping'), 'pong');
});
