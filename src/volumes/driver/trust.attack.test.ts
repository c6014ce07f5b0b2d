import assert from 'node:assert/strict';
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { until } from '../../../test/support/until.ts';
import { signVolumeId } from '../signature/signed-volume-id.ts';
import { newPair } from '../signature/testing/new-pair.ts';
import { startDriver } from './start-driver.ts';
import { memoryMounter } from './testing/memory-mounter.ts';
import {
  callerOf,
  configIn,
  driverDirectory,
  nfsOptions,
  safeDescription,
  testDriver,
} from './testing/test-driver.ts';
import { appGuid, trustingDriver } from './testing/trusting-driver.ts';

const processGuid = `${appGuid}-9d7e2c51-0000-4000-8000-000000000002`;

const share = { source: '//server/share', username: 'user', password: 'own', mount: '/data' };
const cell = { _workload_guid: processGuid, _workload_type: 'lrp' };

test('require: only volumes that the broker signed are mounted', async (t) => {
  const { mount, call, mounter } = await trustingDriver(t, 'require');
  assert.equal(await mount(share), '');
  assert.equal(await mount({ ...share, ...cell }, share), '');
  const before = mounter.mounts.size;
  const changes = [{ source: '//server/other' }, { username: 'root' }, { mount: '/etc' }, { nodfs: 'true' }];
  for (const change of changes) assert.match(await mount({ ...share, ...change }, share), /^NOT_SIGNED: /u);
  for (const Name of ['instance-0123456789abcdef', 'instance.s1.x_c']) {
    await call('VolumeDriver.Create', { Name, Opts: share });
    assert.match(
      safeDescription(await call('VolumeDriver.Mount', { Name })),
      /^NOT_SIGNED: .*bind the app again/u,
    );
  }
  assert.equal(mounter.mounts.size, before);
});

test('require: options without a signature get no existing mount, and none later', async (t) => {
  const args = ['-watchInterval', '20ms'];
  const { mount, call, mounter } = await trustingDriver(t, 'require', { args });
  assert.equal(await mount(share), '');
  const [Name = ''] = ((await call('VolumeDriver.List')).Volumes ?? []).map((volume) => volume.Name);
  const create = (Opts: Record<string, unknown>) => call('VolumeDriver.Create', { Name, Opts });
  for (const changed of [{ source: '//server/other' }, { readonly: true }, { mount: '/etc' }]) {
    assert.equal((await create({ ...share, ...changed })).Err, '');
    assert.match(safeDescription(await call('VolumeDriver.Mount', { Name })), /^NOT_SIGNED: /u);
  }
  // the watchdog mounts with the verified options
  const [target = '', spec] = [...mounter.mounts].at(-1) ?? [];
  mounter.mounts.delete(target);
  await until('the mount', async () => mounter.mounts.has(target));
  assert.deepEqual(mounter.mounts.get(target), spec);
  assert.equal((await call('VolumeDriver.List')).Volumes?.[0]?.MountCount, 1);
  // the same options with another password are signed; they take effect at the next mount
  assert.equal((await create({ ...share, password: 'new' })).Err, '');
  assert.equal((await call('VolumeDriver.Mount', { Name })).Err, '');
  mounter.mounts.delete(target);
  await until('the mount', async () => mounter.mounts.has(target));
  assert.deepEqual(mounter.mounts.get(target), { ...spec, password: 'new' });
});

test('with LDAP only a signed volume names ids, or none does', async (t) => {
  const directory = await driverDirectory(t);
  const pair = newPair();
  await writeFile(join(directory, 'keys.pem'), pair.publicPem);
  const mounter = memoryMounter();
  const args = ['-signatureKeys', join(directory, 'keys.pem')];
  const idsOf = async (): Promise<{ uid: number; gid: number }> => ({ uid: 7, gid: 8 });
  const running = await startDriver(configIn(directory, args), { mounter, idsOf, out: () => undefined });
  t.after(() => running.stop());
  const call = callerOf(running.address);
  const mounted = async (Name: string, Opts: Record<string, unknown>): Promise<string> => {
    assert.equal((await call('VolumeDriver.Create', { Name, Opts })).Err, '');
    const answer = await call('VolumeDriver.Mount', { Name });
    return answer.Err === '' ? '' : safeDescription(answer);
  };
  const ids = { ...nfsOptions, uid: '1000', gid: '1000', mount: '/data' };
  assert.match(
    await mounted('ids', ids),
    /^INVALID_OPTION: .*Not allowed options: gid, uid \(.*has LDAP: name username and password/u,
  );
  const both = { ...ids, username: 'alice', password: 'p' };
  assert.match(await mounted('both', both), /Not allowed options: gid, uid \(.*has LDAP: name username/u);
  assert.match(
    await mounted('none', nfsOptions),
    /^INVALID_OPTION: .*Missing mandatory options: username, password/u,
  );
  assert.equal(mounter.mounts.size, 0);
  assert.equal(await mounted('user', { ...nfsOptions, username: 'alice', password: 'p' }), '');
  const binding = { instanceId: 'instance', appGuid, containerDir: '/data', mode: 'rw' } as const;
  assert.equal(await mounted(`${signVolumeId(binding, ids, pair.key)}_c`, ids), '');
  const orders = [...mounter.mounts.values()].map((spec) => spec.kind === 'nfs' && spec.ids);
  assert.deepEqual(orders, [
    { uid: 7, gid: 8 },
    { uid: 1000, gid: 1000 },
  ]);
});

test('a driver without LDAP reports a directory user with the remedy', async (t) => {
  const { call } = await testDriver(t);
  for (const login of [{ username: 'alice', password: 'p' }, { username: 'alice' }]) {
    await call('VolumeDriver.Create', { Name: 'v', Opts: { ...nfsOptions, ...login } });
    const text = safeDescription(await call('VolumeDriver.Mount', { Name: 'v' }));
    assert.match(
      text,
      /^INVALID_OPTION: .*Not allowed options: .*username \(.*has no LDAP: name uid and gid/u,
    );
  }
});

test("a mount for a workload whose guid is not the app's is made, counted and logged", async (t) => {
  const { mount, running, log } = await trustingDriver(t, 'require');
  assert.equal(await mount({ ...share, _workload_guid: appGuid }, share), '');
  assert.equal(await mount({ ...share, ...cell }, share), '');
  assert.doesNotMatch(log.join(''), /other-workload/u);
  // workers, web processes after a rolling deployment and tasks have such guids, but other apps do, too
  const others = ['5b0c-of-a-worker', `${appGuid}9`, appGuid.slice(0, -1), '', 5, null];
  for (const guid of others) assert.equal(await mount({ ...share, _workload_guid: guid }, share), '');
  assert.match(log.join(''), /other-workload".*5b0c-of-a-worker/u);
  const metrics = await (await fetch(`http://${running.adminAddress}/metrics`)).text();
  assert.match(metrics, new RegExp(`^volume_driver_other_workloads_total ${others.length}$`, 'mu'));
});

test('log: all volumes are mounted, and unsigned ones are logged; off: nothing is logged', async (t) => {
  const logging = await trustingDriver(t, 'log');
  assert.equal(await logging.mount({ ...share, source: '//server/other' }, share), '');
  assert.match(logging.log.join(''), /not-signed/u);
  const off = await trustingDriver(t, 'off');
  assert.equal(await off.mount({ ...share, source: '//server/other' }, share), '');
  assert.doesNotMatch(off.log.join(''), /not-signed/u);
});

test("a signed reference to a secret is read below the prefix, from root's files without links", async (t) => {
  const { mount, mounter, directory, log, call } = await trustingDriver(t, 'off');
  const secrets = join(directory, 'secrets');
  const at = (path: string): Record<string, unknown> => ({ ...share, password: `((file:${path}))` });
  await writeFile(join(secrets, 'team', 'photos'), 'geheim\n', { mode: 0o600 });
  assert.equal(await mount(at(join(secrets, 'team', 'photos'))), '');
  const [spec] = mounter.mounts.values();
  assert.ok(spec?.kind === 'smb' && spec.password === 'geheim');
  // a rotated secret needs no new binding
  await writeFile(join(secrets, 'team', 'photos'), 'neues');
  assert.equal(await mount(at(join(secrets, 'team', 'photos'))), '');
  const last = [...mounter.mounts.values()].at(-1);
  assert.ok(last?.kind === 'smb' && last.password === 'neues');

  const before = mounter.mounts.size;
  await writeFile(join(directory, 'outside'), 'outside');
  await symlink(join(directory, 'outside'), join(secrets, 'link'));
  await symlink(directory, join(secrets, 'folder'));
  await writeFile(join(secrets, 'lines'), 'a\nb');
  // mount.cifs accepts at most 512 characters
  await writeFile(join(secrets, 'long'), 'x'.repeat(513));
  const paths = ['/etc/hostname', join(directory, 'outside'), `${secrets}-x/y`, join(secrets, 'link')];
  paths.push(
    join(secrets, 'folder', 'outside'),
    join(secrets, 'missing'),
    join(secrets, 'team'),
    join(secrets, 'lines'),
    join(secrets, 'long'),
  );
  for (const path of paths) assert.match(await mount(at(path)), /^SECRET_UNAVAILABLE: /u, path);
  assert.match(
    await mount({ ...share, password: '((credhub:/x/y))' }),
    /^SECRET_UNAVAILABLE: .*not below the prefix that the driver reads \(-credhub\)/u,
  );
  // unsigned, or signed with another reference
  assert.match(await mount(at(join(secrets, 'team', 'photos')), share), /^NOT_SIGNED: /u);
  await call('VolumeDriver.Create', { Name: 'plain', Opts: at(join(secrets, 'team', 'photos')) });
  assert.match(safeDescription(await call('VolumeDriver.Mount', { Name: 'plain' })), /^NOT_SIGNED: /u);
  assert.equal(mounter.mounts.size, before);
  assert.doesNotMatch(log.join(''), /geheim|neues|outside"/u);
});

test('a directory of secrets in which others can create links is a start error', async (t) => {
  const directory = await driverDirectory(t);
  const secrets = join(directory, 'secrets');
  await mkdir(secrets);
  await chmod(secrets, 0o777);
  await writeFile(join(directory, 'keys.pem'), newPair().publicPem);
  const args = ['-signatureKeys', join(directory, 'keys.pem'), '-secretFiles', secrets];
  await assert.rejects(testDriver(t, { directory, args }), { code: 'FILE_NOT_TRUSTED' });
});

test('an invalid key file is a start error', async (t) => {
  const directory = await driverDirectory(t);
  await writeFile(join(directory, 'keys.pem'), newPair().privatePem);
  await chmod(join(directory, 'keys.pem'), 0o600);
  const args = ['-signatures', 'require', '-signatureKeys', join(directory, 'keys.pem')];
  await assert.rejects(testDriver(t, { directory, args }), {
    code: 'DRIVER_CONFIG_INVALID',
    message: /-signatureKeys/u,
  });
});
