import assert from 'node:assert/strict';
import { readdir, readFile, readlink, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { isObject } from '../../platform/json.ts';
import { helloJob } from '../testing/hello-job.ts';
import { emptySpec, specWith } from '../testing/specs.ts';
import { TestVm } from '../testing/test-vm.ts';
import type { ArchiveEntry } from '../testing/archives.ts';

test('rejects an unsupported job at apply, and leaves the VM unchanged', async (t) => {
  const vm = await TestVm.create();
  t.after(() => vm.remove());
  const client = await vm.start();
  await client.task('apply', await specWith(client, helloJob(vm.directories)));
  const link = await readlink(join(vm.directories.jobs, 'hello'));
  const spec = await readFile(join(vm.directories.bosh, 'spec.json'), 'utf8');
  const files: Record<string, ArchiveEntry> = {
    ...helloJob(vm.directories),
    './hello/extra.monit': '\ncheck directory x with path /x\n',
  };
  await assert.rejects(
    client.task('apply', await specWith(client, files)),
    /job 'hello': monit line 2, column 1: the agent does not support the clause 'check directory x with path \/x'/,
  );
  const owned = (helloJob(vm.directories)['./hello/monit'] ?? '').replace(
    'with timeout',
    'as uid nobody-here with timeout',
  );
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

test('apply writes the configuration of logrotate, with the size of the spec', async (t) => {
  const vm = await TestVm.create();
  t.after(() => vm.remove());
  const client = await vm.start();
  const { logrotate } = vm.directories;
  const spec = await specWith(client, helloJob(vm.directories));
  assert.ok(isObject(spec));
  const withSize = (size?: unknown): object => ({
    ...spec,
    properties: { logging: { max_log_file_size: size } },
  });
  await client.task('apply', withSize());
  assert.equal(
    await readFile(logrotate, 'utf8'),
    [
      '/proc/self/cwd/*.log /proc/self/cwd/.*.log {',
      ...['  missingok', '  copytruncate', '  compress', '  rotate 7', '  size 50M', '}', ''],
    ].join('\n'),
  );
  assert.equal((await stat(logrotate)).mode & 0o777, 0o644);
  await client.task('apply', withSize('10M'));
  assert.match(await readFile(logrotate, 'utf8'), /^ {2}size 10M$/mu);
  for (const size of ['10M\n}\n/etc/shadow {', '1T', 10])
    await assert.rejects(client.task('apply', withSize(size)), /max_log_file_size/u);
  assert.match(await readFile(logrotate, 'utf8'), /^ {2}size 10M$/mu);
});

test('an update leaves no archive of rendered templates, which contain secrets', async (t) => {
  const vm = await TestVm.create();
  t.after(() => vm.remove());
  const client = await vm.start();
  const spec = await specWith(client, helloJob(vm.directories));
  assert.ok(isObject(spec) && isObject(spec['rendered_templates_archive']));
  const { sha1 } = spec['rendered_templates_archive'];
  const archive = await readFile(join(vm.directories.blobs, 'rendered'));
  // the director uploads the same archive before each of the two actions, each time with another id
  for (const action of ['prepare', 'apply']) {
    const id = `rendered-for-${action}`;
    assert.equal((await client.send('PUT', `/blobs/33/${id}`, archive)).status, 201);
    await client.task(action, { ...spec, rendered_templates_archive: { blobstore_id: id, sha1 } });
  }
  assert.deepEqual(await readdir(vm.directories.blobs), ['rendered']);
});
