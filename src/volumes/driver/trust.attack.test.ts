import assert from 'node:assert/strict';
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { signVolumeId } from '../signature/signed-volume-id.ts';
import type { SigningPair } from '../signature/testing/new-pair.ts';
import { newPair } from '../signature/testing/new-pair.ts';
import type { TestDriver } from './testing/test-driver.ts';
import { driverFolder, safeDescription, testDriver } from './testing/test-driver.ts';

const appGuid = '3f1a7f4e-0000-4000-8000-000000000001';
const processGuid = `${appGuid}-9d7e2c51-0000-4000-8000-000000000002`;

interface Trust extends TestDriver {
  readonly folder: string;
  readonly pair: SigningPair;
  /** Mounts options under the id that the broker signed for them; `Err` is the developer's text, or ''. */
  readonly mount: (options: Record<string, unknown>, signed?: Record<string, unknown>) => Promise<string>;
}

async function trustingDriver(t: TestContext, mode: string, protocol = 'smbdriver'): Promise<Trust> {
  const folder = await driverFolder(t);
  const pair = newPair();
  await writeFile(join(folder, 'keys.pem'), newPair().publicPem + pair.publicPem);
  await mkdir(join(folder, 'secrets', 'team'), { recursive: true });
  const words = ['-name', protocol, '-signatures', mode, '-signatureKeys', join(folder, 'keys.pem')];
  const driver = await testDriver(t, { folder, words: [...words, '-secretFiles', join(folder, 'secrets')] });
  let container = 0;
  return {
    ...driver,
    folder,
    pair,
    mount: async (options, signed = options) => {
      const mount = {
        instanceId: 'instance',
        appGuid,
        containerDir: String(signed['mount']),
        mode: 'rw',
      } as const;
      const Name = `${signVolumeId(mount, signed, pair.key)}_container=${(container += 1)}`;
      assert.equal((await driver.call('VolumeDriver.Create', { Name, Opts: options })).Err, '');
      const answer = await driver.call('VolumeDriver.Mount', { Name });
      return answer.Err === '' ? '' : safeDescription(answer);
    },
  };
}

const share = { source: '//server/share', username: 'user', password: 'own', mount: '/data' };
const cell = { _workload_guid: processGuid, _workload_type: 'lrp' };

test('require: only what the broker signed is mounted', async (t) => {
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

test('a workload whose guid is not of the app is mounted for, counted and logged', async (t) => {
  const { mount, running, log } = await trustingDriver(t, 'require');
  assert.equal(await mount({ ...share, _workload_guid: appGuid }, share), '');
  assert.equal(await mount({ ...share, ...cell }, share), '');
  assert.doesNotMatch(log.join(''), /other-workload/u);
  // a worker, a web process after a rolling deployment and a task have such guids; so have other apps
  const others = ['5b0c-of-a-worker', `${appGuid}9`, appGuid.slice(0, -1), '', 5, null];
  for (const guid of others) assert.equal(await mount({ ...share, _workload_guid: guid }, share), '');
  assert.match(log.join(''), /other-workload".*5b0c-of-a-worker/u);
  const metrics = await (await fetch(`http://${running.adminAddress}/metrics`)).text();
  assert.match(metrics, new RegExp(`^volume_driver_other_workloads_total ${others.length}$`, 'mu'));
});

test('log: all is mounted, and a line names what is not signed; off: not even that', async (t) => {
  const logging = await trustingDriver(t, 'log');
  assert.equal(await logging.mount({ ...share, source: '//server/other' }, share), '');
  assert.match(logging.log.join(''), /not-signed/u);
  const off = await trustingDriver(t, 'off');
  assert.equal(await off.mount({ ...share, source: '//server/other' }, share), '');
  assert.doesNotMatch(off.log.join(''), /not-signed/u);
});

test('a reference to a secret is read when signed, below the prefix, and from files of root without links', async (t) => {
  const { mount, mounter, folder, log, call } = await trustingDriver(t, 'off');
  const secrets = join(folder, 'secrets');
  const at = (path: string): Record<string, unknown> => ({ ...share, password: `((file:${path}))` });
  await writeFile(join(secrets, 'team', 'photos'), 'geheim\n', { mode: 0o600 });
  assert.equal(await mount(at(join(secrets, 'team', 'photos'))), '');
  const [order] = mounter.mounts.values();
  assert.ok(order?.kind === 'smb' && order.password === 'geheim');
  // a rotated secret needs no new binding
  await writeFile(join(secrets, 'team', 'photos'), 'neues');
  assert.equal(await mount(at(join(secrets, 'team', 'photos'))), '');
  const last = [...mounter.mounts.values()].at(-1);
  assert.ok(last?.kind === 'smb' && last.password === 'neues');

  const before = mounter.mounts.size;
  await writeFile(join(folder, 'outside'), 'outside');
  await symlink(join(folder, 'outside'), join(secrets, 'link'));
  await symlink(folder, join(secrets, 'folder'));
  await writeFile(join(secrets, 'lines'), 'a\nb');
  const places = ['/etc/hostname', join(folder, 'outside'), `${secrets}-x/y`, join(secrets, 'link')];
  places.push(
    join(secrets, 'folder', 'outside'),
    join(secrets, 'missing'),
    join(secrets, 'team'),
    join(secrets, 'lines'),
  );
  for (const place of places) assert.match(await mount(at(place)), /^SECRET_UNAVAILABLE: /u, place);
  assert.match(await mount({ ...share, password: '((credhub:/x/y))' }), /^SECRET_UNAVAILABLE: .*files only/u);
  // not signed, or signed with another reference
  assert.match(await mount(at(join(secrets, 'team', 'photos')), share), /^NOT_SIGNED: /u);
  await call('VolumeDriver.Create', { Name: 'plain', Opts: at(join(secrets, 'team', 'photos')) });
  assert.match(safeDescription(await call('VolumeDriver.Mount', { Name: 'plain' })), /^NOT_SIGNED: /u);
  assert.equal(mounter.mounts.size, before);
  assert.doesNotMatch(log.join(''), /geheim|neues|outside"/u);
});

test('a folder of secrets in which others can put links is a start error', async (t) => {
  const folder = await driverFolder(t);
  const secrets = join(folder, 'secrets');
  await mkdir(secrets);
  await chmod(secrets, 0o777);
  await writeFile(join(folder, 'keys.pem'), newPair().publicPem);
  const words = ['-signatureKeys', join(folder, 'keys.pem'), '-secretFiles', secrets];
  await assert.rejects(testDriver(t, { folder, words }), { code: 'FILE_NOT_TRUSTED' });
});

test('a key file that is none is a start error', async (t) => {
  const folder = await driverFolder(t);
  await writeFile(join(folder, 'keys.pem'), newPair().privatePem);
  await chmod(join(folder, 'keys.pem'), 0o600);
  const words = ['-signatures', 'require', '-signatureKeys', join(folder, 'keys.pem')];
  await assert.rejects(testDriver(t, { folder, words }), {
    code: 'DRIVER_CONFIG_INVALID',
    message: /-signatureKeys/u,
  });
});
