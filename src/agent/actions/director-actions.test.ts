import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { isObject } from '../../platform/json.ts';
import { readFileIfPresent } from '../file/files.ts';
import { callAgent } from '../monit/command/command-socket.ts';
import { ShutdownMark } from '../shutdown-mark.ts';
import { DavServer } from '../testing/dav-server.ts';
import { helloJob } from '../testing/hello-job.ts';
import { eventually } from '../testing/eventually.ts';
import { jobState, pidOf, reaches, specWith } from '../testing/specs.ts';
import { procProcessTable } from '../process/process-table.ts';
import { TestVm } from '../testing/test-vm.ts';

const sha1 = (content: Buffer): string => createHash('sha1').update(content).digest('hex');

test('upload_blob stores the blob that apply reads, and refuses a wrong digest and other texts', async (t) => {
  const vm = await TestVm.create();
  t.after(() => vm.remove());
  const client = await vm.start();
  const content = Buffer.from('rendered templates '.repeat(20));
  const payload = content.toString('base64').replaceAll(/.{60}/gu, '$&\n');
  const request = { blob_id: 'templates', checksum: sha1(content), payload };
  assert.equal(await client.task('upload_blob', request), 'templates');
  assert.deepEqual(await readFile(join(vm.directories.blobs, 'templates')), content);
  await assert.rejects(
    client.task('upload_blob', { ...request, blob_id: 'other', checksum: sha1(Buffer.from('x')) }),
    /the blob 'other' of upload_blob has sha1 .*, expected/u,
  );
  await assert.rejects(
    client.task('upload_blob', { ...request, payload: 'no base64!' }),
    /payload must be base64/u,
  );
  await assert.rejects(client.task('upload_blob', { ...request, blob_id: '../x' }), /is not a blob id/u);
  await assert.rejects(stat(join(vm.directories.blobs, 'other')), { code: 'ENOENT' });
});

test('sync_dns writes the hosts and the records of a newer version only', async (t) => {
  const dav = await DavServer.start();
  t.after(() => dav.close());
  const vm = await TestVm.create();
  t.after(() => vm.remove());
  const hosts = join(vm.directories.base, 'hosts');
  await writeFile(hosts, '127.0.0.1 localhost\n10.0.0.7 vm-agent-1.bosh vm-agent-1\n');
  const client = await vm.start();
  await client.task('update_settings', { blobstores: [dav.settings] });
  const records = (version: number, name: string): [string, string, number] => {
    const blob = Buffer.from(JSON.stringify({ records: [['10.0.0.8', name]], version }));
    dav.add(`dns-${version}`, blob);
    return [`dns-${version}`, sha1(blob), version];
  };
  assert.equal(await client.value('sync_dns', ...records(2, 'a.web.default.cf.bosh')), 'synced');
  const text = await readFile(hosts, 'utf8');
  assert.match(text, /^127\.0\.0\.1 localhost agent-1$/mu);
  assert.match(text, /^10\.0\.0\.7 vm-agent-1\.bosh vm-agent-1$/mu);
  assert.match(text, /^10\.0\.0\.8 a\.web\.default\.cf\.bosh$/mu);
  const path = join(vm.directories.instance, 'dns', 'records.json');
  assert.equal((await stat(path)).mode & 0o777, 0o640);
  assert.equal(await client.value('sync_dns', ...records(1, 'older')), 'synced');
  assert.equal(await readFile(hosts, 'utf8'), text);
  await assert.rejects(client.value('sync_dns', ...records(3, 'a b; c')), /a record is not a pair/u);
  const [id, , version] = records(4, 'newer');
  await assert.rejects(
    client.value('sync_dns', id, sha1(Buffer.from('x')), version),
    /the DNS records .*expected/u,
  );
  assert.equal(await readFile(hosts, 'utf8'), text);
  assert.equal(await client.value('sync_dns', ...records(4, 'newer')), 'synced');
  assert.match(await readFile(hosts, 'utf8'), /newer/u);
  // a director repeats a call that was not answered in time
  const versions = [9, 8, 7, 9, 6, 5, 9];
  await Promise.all(versions.map((one) => client.value('sync_dns', ...records(one, `version-${one}`))));
  assert.match(await readFile(hosts, 'utf8'), /version-9$/mu);
  assert.match(await readFile(path, 'utf8'), /version-9/u);
  // all instances are deleted
  const none = Buffer.from(JSON.stringify({ records: [], version: 10, record_infos: [], aliases: {} }));
  dav.add('dns-10', none);
  assert.equal(await client.value('sync_dns', 'dns-10', sha1(none), 10), 'synced');
  assert.match(await readFile(hosts, 'utf8'), /\n10\.0\.0\.7 vm-agent-1\.bosh vm-agent-1\n$/u);
  assert.equal(await readFile(path, 'utf8'), none.toString());
});

test('shutdown stops the jobs and the bus for good, also after a restart of the agent', async (t) => {
  const vm = await TestVm.create();
  t.after(() => vm.remove());
  const client = await vm.start();
  await client.task('apply', await specWith(client, helloJob(vm.directories)));
  await client.value('start');
  await reaches(client, 'running');
  const pid = await pidOf(vm, 'hello');
  // the director does not wait for an answer
  const answer = client.value('shutdown').catch((error: unknown) => error);
  await eventually('the end of the bus', async () => {
    const state = await jobState(client).catch(() => 'no answer');
    return state === 'no answer' || undefined;
  });
  await answer;
  assert.equal(await procProcessTable.find(pid), undefined);
  const monit = (...args: string[]): Promise<unknown> => callAgent(vm.directories.monitSocket, args);
  const assertNoStart = async (): Promise<void> => {
    for (const action of ['start', 'restart', 'monitor'])
      assert.deepEqual(await monit(action, 'hello'), {
        ...{ code: 1, output: '' },
        error: 'monit: action failed -- jobs are not started: the director has shut this VM down\n',
      });
    assert.match(JSON.stringify(await monit('summary')), /'hello' +not monitored/u);
    assert.match(JSON.stringify(await monit('stop', 'other')), /There is no service by that name/u);
  };
  await assertNoStart();
  for (const restart of [1, 2]) {
    await vm.stop();
    vm.lines.length = 0;
    await vm.start();
    assert.match(vm.lines.at(-1) ?? '', /the director has shut this VM down/u, `restart ${restart}`);
    assert.equal(vm.mbusUrl.endsWith(':undefined'), true);
    await assertNoStart();
    assert.equal(await procProcessTable.find(pid), undefined);
  }
});

test('a shutdown that was killed after its first write is completed by the next agent', async (t) => {
  const vm = await TestVm.create();
  t.after(() => vm.remove());
  const client = await vm.start();
  await client.task('apply', await specWith(client, helloJob(vm.directories)));
  await client.value('start');
  await reaches(client, 'running');
  const pid = await pidOf(vm, 'hello');
  await vm.stop();
  assert.notEqual(await procProcessTable.find(pid), undefined);
  await new ShutdownMark(vm.directories).set();
  await vm.start();
  assert.equal(await procProcessTable.find(pid), undefined);
});

test('a shutdown ends an errand that runs', async (t) => {
  const vm = await TestVm.create();
  t.after(() => vm.remove());
  const client = await vm.start();
  const pidFile = join(vm.directories.base, 'errand.pid');
  const run = `#!/bin/sh\necho $$ > ${pidFile}.new\nmv ${pidFile}.new ${pidFile}\nexec sleep 1000\n`;
  await client.task('apply', await specWith(client, { './long/bin/run': run, './long/monit': '' }));
  await client.value('run_errand', 'long');
  const pid = Number(await eventually('the errand', () => readFileIfPresent(pidFile)));
  await client.value('shutdown').catch((error: unknown) => error);
  await eventually('its end', async () => (await procProcessTable.find(pid)) === undefined || undefined);
});

test('an errand answers its whole output, and the beginning and the end of more than a message can carry', async (t) => {
  const vm = await TestVm.create();
  t.after(() => vm.remove());
  const client = await vm.start();
  const lines = (count: number): string => `#!/bin/bash\nseq 1 ${count}\necho problem >&2\nexit 3\n`;
  const files = {
    './long/bin/run': lines(20_000),
    './long/monit': '',
    './huge/bin/run': lines(1_000_000),
    './huge/monit': '',
  };
  await client.task('apply', await specWith(client, files));
  const long = await client.task('run_errand', 'long');
  assert.ok(isObject(long) && typeof long['stdout'] === 'string');
  assert.equal(long['stdout'].split('\n').length, 20_001);
  const huge = await client.task('run_errand', 'huge');
  assert.ok(isObject(huge) && typeof huge['stdout'] === 'string');
  assert.deepEqual([huge['exit_code'], huge['stderr']], [3, 'problem\n']);
  assert.match(huge['stdout'], /^1\n2\n[^]*the middle was removed here[^]*\n1000000\n$/u);
  assert.ok(Buffer.byteLength(JSON.stringify({ value: huge })) <= 1024 * 1024);
});

test('delete_arp_entries refuses what is not an address', async (t) => {
  const vm = await TestVm.create();
  t.after(() => vm.remove());
  const client = await vm.start();
  assert.deepEqual(await client.value('delete_arp_entries', { ips: ['192.0.2.1'] }), {});
  await assert.rejects(
    client.value('delete_arp_entries', { ips: ['dev eth0'] }),
    /ips\[0\] must be an IP address/u,
  );
});
