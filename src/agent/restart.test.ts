import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { lstat, mkdir, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { procProcessTable } from './process/process-table.ts';
import { eventually } from './testing/eventually.ts';
import { helloJob } from './testing/hello-job.ts';
import { jobState, pidOf, reaches, specWith } from './testing/specs.ts';
import { TestVm } from './testing/test-vm.ts';

test('restarts a daemon that forked twice after kill -9, and the next agent recognises it', async (t) => {
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

test('after a restart every job of the last apply waits for its disk and runs again', async (t) => {
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

  // As after a restart of the container: processes and mounts have ended, and the disk is not attached again
  // yet.
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

test('a starting agent removes only the temporary files of interrupted writes', async (t) => {
  const vm = await TestVm.create();
  t.after(() => vm.remove());
  await vm.start();
  await vm.stop();
  const { base, bosh, monit, monitJobs, instance, jobs, packages } = vm.directories;
  const temporary = [
    ...[bosh, monit, monitJobs, instance].map((directory) => join(directory, `name.${randomUUID()}.tmp`)),
    ...[base, jobs, packages].map((directory) => join(directory, `link.${randomUUID()}.tmp`)),
  ];
  for (const path of temporary)
    await (path.includes('/link.') ? symlink('/nowhere', path) : writeFile(path, 'half'));
  const kept = join(jobs, 'hello.tmp');
  await writeFile(kept, '');
  // a folder is of no write
  const stagingDirectory = join(base, `folder.${randomUUID()}.tmp`);
  await mkdir(stagingDirectory);
  await vm.start();
  for (const path of temporary) await assert.rejects(lstat(path), { code: 'ENOENT' }, path);
  await lstat(kept);
  await lstat(stagingDirectory);
});
