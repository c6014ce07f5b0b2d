import assert from 'node:assert/strict';
import { chmod, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { createTestAuthority } from '../../kubernetes/testing/certificates.ts';
import type { DriverDeadlines } from './driver-client.ts';
import { smallDriver } from './testing/small-driver.ts';
import type { SmallDriver, SmallDriverOptions } from './testing/small-driver.ts';
import { Volman } from './volman.ts';

interface Cell {
  readonly directory: string;
  readonly volman: Volman;
  readonly logged: string[];
  readonly measured: string[];
  readonly driver: (options?: SmallDriverOptions) => Promise<SmallDriver>;
  /** Starts a driver with a json spec file and unique volume ids. */
  readonly listed: (name: string) => Promise<SmallDriver>;
  readonly write: (file: string, content: string | object) => Promise<void>;
}

const quick: DriverDeadlines = { short: 0.3, mount: 0.3 };
const patient: DriverDeadlines = { short: 60, mount: 60 };

async function cell(t: TestContext, deadlines = patient): Promise<Cell> {
  const directory = await mkdtemp(join(tmpdir(), 'volman-'));
  t.after(() => rm(directory, { recursive: true }));
  const [logged, measured]: string[][] = [[], []];
  const metrics = {
    count: (name: string) => void measured?.push(name),
    time: (name: string) => void measured?.push(name),
  };
  const volman = new Volman({
    directories: [directory],
    mountDirectories: ['/var/vcap/data'],
    deadlines,
    metrics,
    log: (line) => void logged?.push(line),
    clock: () => 0,
  });
  const made: Cell = {
    directory,
    volman,
    logged: logged ?? [],
    measured: measured ?? [],
    driver: async (options) => {
      const driver = await smallDriver(options);
      t.after(() => driver.stop());
      return driver;
    },
    listed: async (name) => {
      const driver = await made.driver();
      await made.write(`${name}.json`, { Name: name, Addr: driver.url, UniqueVolumeIds: true });
      return driver;
    },
    write: async (file, content) =>
      writeFile(join(directory, file), typeof content === 'string' ? content : JSON.stringify(content), {
        mode: 0o644,
      }),
  };
  return made;
}

const order = { driver: 'nfsv3driver', volumeId: 'a_b', containerId: 'c_d' };

test('json precedes spec, spec precedes sock, and the first match of a name is used', async (t) => {
  const { driver, write, volman, directory, logged } = await cell(t);
  const [json, spec] = [await driver(), await driver()];
  const sock = await driver({ socketPath: join(directory, 'third.sock') });
  await driver({ socketPath: join(directory, 'first.sock') });
  await write('first.json', { Name: 'ignored', Addr: json.url });
  await write('first.spec', `${spec.url}\n`);
  await write('second.spec', `${spec.url}\nmore`);
  await volman.scan();
  assert.deepEqual(volman.listDrivers(), ['first', 'second', 'third']);
  assert.deepEqual(logged, []);
  assert.deepEqual([json.requests, spec.requests, sock.requests], [['Activate'], ['Activate'], ['Activate']]);
  const [first, third] = [
    { ...order, driver: 'first' },
    { ...order, driver: 'third' },
  ];
  assert.equal(await volman.mount(first, { source: 's' }), '/var/vcap/data/volumes/small/a_b');
  assert.equal(await volman.mount(third, {}), '/var/vcap/data/volumes/small/a_b');
  assert.deepEqual(json.volumes.get('a_b'), { count: 1, options: { source: 's' } });
  await volman.release(third);
  assert.equal(sock.volumes.size, 0);
});

test('a volume per container has both ids in its name, each with = for _', async (t) => {
  const { listed, volman, measured } = await cell(t);
  const driver = await listed('nfsv3driver');
  await volman.scan();
  await volman.mount(order, {});
  assert.deepEqual([...driver.volumes.keys()], ['a=b_c=d']);
  await volman.release(order);
  assert.equal(driver.volumes.size, 0);
  assert.deepEqual(measured, [
    'VolmanMountDuration',
    'VolmanMountDurationFornfsv3driver',
    'VolmanUnmountDuration',
    'VolmanUnmountDurationFornfsv3driver',
  ]);
  for (const volumeId of ['../../evil', 'a/b', '..', '', 'a\0b', 'x'.repeat(300)])
    await assert.rejects(volman.mount({ ...order, volumeId }, {}), { code: 'VOLUME_MOUNT_INVALID' });
  assert.equal(driver.volumes.size, 0);
});

test('both sides of a TLS connection to a driver need a certificate of its CA', async (t) => {
  const { driver, write, volman, directory, logged } = await cell(t);
  const authority = await createTestAuthority();
  const [own, client] = [await authority.server({ ip: '127.0.0.1' }), await authority.client('volman')];
  const stranger = await createTestAuthority();
  const other = await stranger.client('volman');
  const wrongName = await authority.server({ ip: '127.0.0.9' });
  const files = {
    'ca.pem': authority.ca,
    'client.pem': client.certificate,
    'client.key': client.key,
    'other.pem': other.certificate,
    'other.key': other.key,
    'stranger.pem': stranger.ca,
  };
  for (const [name, text] of Object.entries(files)) await write(name, text);
  const at = (name: string): string => join(directory, name);
  const TLSConfig = { CAFile: at('ca.pem'), CertFile: at('client.pem'), KeyFile: at('client.key') };
  const tls = { ca: authority.ca, requestCert: true, rejectUnauthorized: true };
  const right = await driver({ tls: { ...tls, cert: own.certificate, key: own.key } });
  const misnamed = await driver({ tls: { ...tls, cert: wrongName.certificate, key: wrongName.key } });
  const addr = { Addr: right.url };
  await write('right.json', { ...addr, TLSConfig });
  await write('no-client.json', {
    ...addr,
    TLSConfig: { ...TLSConfig, CertFile: at('other.pem'), KeyFile: at('other.key') },
  });
  await write('other-ca.json', {
    ...addr,
    TLSConfig: { ...TLSConfig, CAFile: at('stranger.pem'), InsecureSkipVerify: true },
  });
  await write('misnamed.json', { Addr: misnamed.url, TLSConfig });
  await write('skips-name.json', {
    Addr: misnamed.url,
    TLSConfig: { ...TLSConfig, InsecureSkipVerify: true },
  });
  await volman.scan();
  assert.deepEqual(volman.listDrivers(), ['right', 'skips-name']);
  assert.equal(logged.length, 3);
});

test('a driver that fails at a rescan still releases its volumes, and its new address is used later', async (t) => {
  const { listed, volman, directory } = await cell(t);
  const first = await listed('nfsv3driver');
  await volman.scan();
  await volman.mount(order, {});
  first.instead = (route) => (route === '/Plugin.Activate' ? '{"Err":"not now"}' : undefined);
  await volman.scan();
  assert.deepEqual(volman.listDrivers(), []);
  await volman.release(order);
  assert.equal(first.volumes.size, 0);
  // the driver has restarted on another port, with the same volumes
  const second = await listed('nfsv3driver');
  second.volumes.set('a=b_c=d', { count: 1, options: {} });
  await volman.scan();
  await volman.release(order);
  assert.equal(second.volumes.size, 0);
  // a driver that stops removes its spec file: new mounts are rejected, but unmounts still work
  await volman.mount(order, {});
  await rm(join(directory, 'nfsv3driver.json'));
  await volman.scan();
  await assert.rejects(volman.mount(order, {}), {
    code: 'DRIVER_NOT_FOUND',
    message: /^Plugin 'nfsv3driver' not found in list of known plugins/u,
  });
  await volman.release(order);
  assert.equal(second.volumes.size, 0);
});

test('an unreadable directory does not empty the list', async (t) => {
  const { listed, write, directory } = await cell(t);
  await listed('nfsv3driver');
  await write('a-file', '');
  const directories = [directory];
  const logged: string[] = [];
  const metrics = { count: () => undefined, time: () => undefined };
  const volman = new Volman({
    directories,
    mountDirectories: ['/var/vcap/data'],
    deadlines: patient,
    metrics,
    log: (line) => void logged.push(line),
    clock: () => 0,
  });
  await volman.scan();
  directories.push(join(directory, 'a-file'));
  await volman.scan();
  assert.deepEqual(volman.listDrivers(), ['nfsv3driver']);
  assert.match(logged.join(), /ENOTDIR/u);
});

test('a purge leaves no volume, whatever its count', async (t) => {
  const { listed, volman } = await cell(t);
  const [nfs, smb] = [await listed('nfsv3driver'), await listed('smbdriver')];
  for (let index = 0; index < 30; index += 1) nfs.volumes.set(`v${index}`, { count: index % 4, options: {} });
  smb.volumes.set('stuck', { count: 1, options: {} });
  smb.volumes.set('plain', { count: 1, options: {} });
  smb.unmount = async (name) => {
    if (name === 'stuck') throw new Error('busy');
  };
  await volman.scan();
  const leftovers = await volman.purge();
  assert.deepEqual([[...nfs.volumes.keys()], [...smb.volumes.keys()]], [[], ['stuck']]);
  assert.match(leftovers.join(), /^volume 'stuck': /u);
});

test('a volume of a killed container is released, also repeatedly', async (t) => {
  const { listed, volman } = await cell(t);
  const driver = await listed('nfsv3driver');
  await volman.scan();
  await volman.release(order);
  // killed between Create and Mount, after Mount, and after a repeated Mount
  for (const count of [0, 1, 2]) {
    driver.volumes.set('a=b_c=d', { count, options: {} });
    await volman.release(order);
    assert.equal(driver.volumes.size, 0);
  }
});

test('concurrent mounts count separately for each driver', async (t) => {
  const { listed, volman, measured } = await cell(t);
  for (const name of ['one', 'two']) await listed(name);
  await volman.scan();
  await Promise.all(
    Array.from({ length: 40 }, async (_, index) =>
      volman.mount({ driver: index % 2 === 0 ? 'one' : 'two', volumeId: `v${index}`, containerId: 'c' }, {}),
    ),
  );
  const times = (name: string): number => measured.filter((metric) => metric === name).length;
  assert.deepEqual(
    ['VolmanMountDuration', 'VolmanMountDurationForone', 'VolmanMountDurationFortwo'].map(times),
    [40, 20, 20],
  );
});

test('a malformed response of a driver is distinguished from a refusal', async (t) => {
  const { listed, volman, measured } = await cell(t);
  const driver = await listed('nfsv3driver');
  await volman.scan();
  const answers = {
    '{"Err": "x"': 'DRIVER_UNREACHABLE',
    '[]': 'DRIVER_UNREACHABLE',
    null: 'DRIVER_UNREACHABLE',
    '{"Err":""}': 'DRIVER_UNREACHABLE',
    '{"Mountpoint":5}': 'DRIVER_UNREACHABLE',
    '{"Mountpoint":"relative"}': 'DRIVER_UNREACHABLE',
    '{"Mountpoint":"/var/vcap/data/../../etc"}': 'DRIVER_UNREACHABLE',
    '{"Mountpoint":"/etc"}': 'DRIVER_FAILED',
    '{"Mountpoint":"/var/vcap/database"}': 'DRIVER_FAILED',
    '{"Err":"exit status 32"}': 'DRIVER_FAILED',
    [JSON.stringify({ Err: '{"SafeDescription":"no such export"}' })]: 'DRIVER_REFUSED',
  };
  for (const [answer, code] of Object.entries(answers)) {
    driver.instead = (route) => (route === '/VolumeDriver.Mount' ? answer : undefined);
    await assert.rejects(volman.mount(order, {}), { code }, answer);
  }
  driver.instead = (route) =>
    route === '/VolumeDriver.Mount' ? '{"Err":"{\\"SafeDescription\\":\\"no such export\\"}"}' : undefined;
  await assert.rejects(volman.mount(order, {}), { message: 'no such export' });
  driver.instead = () => '{"Volumes":[5]}';
  await assert.rejects(volman.release(order), { code: 'DRIVER_UNREACHABLE' });
  assert.equal(measured.filter((name) => name === 'VolmanMountErrors').length, 12);
  assert.equal(measured.filter((name) => name === 'VolmanUnmountErrors').length, 1);
});

test('the deadline ends a request to a driver that hangs or never ends its response', async (t) => {
  const { listed, volman } = await cell(t, quick);
  const driver = await listed('nfsv3driver');
  await volman.scan();
  driver.instead = () => null;
  await assert.rejects(volman.mount(order, {}), { message: /gave no answer within 0.3 seconds/u });
  driver.instead = (_, response) => {
    response.write('{"Err":"');
    const dribble = setInterval(() => response.write('x'), 20);
    response.once('close', () => clearInterval(dribble));
    return null;
  };
  await assert.rejects(volman.mount(order, {}), { message: /gave no answer within 0.3 seconds/u });
});

test('an endless answer is read up to a limit', async (t) => {
  const { listed, volman } = await cell(t);
  const driver = await listed('nfsv3driver');
  await volman.scan();
  driver.instead = (_, response) => {
    const part = 'x'.repeat(1024 * 1024);
    const more = (): void => {
      while (!response.destroyed && response.write(part));
      if (!response.destroyed) response.once('drain', more);
    };
    more();
    return null;
  };
  await assert.rejects(volman.mount(order, {}), { message: /more than 16777216 bytes/u });
});

test('invalid spec files are named with their error, and not used', async (t) => {
  const { write, volman, logged, directory } = await cell(t);
  const wrong = {
    'not-json.json': '{',
    'no-address.json': {},
    'no-port.spec': 'http://127.0.0.1',
    'empty.spec': '',
    'port.spec': 'http://127.0.0.1:99999',
    'user.spec': 'http://name:password@127.0.0.1:80',
    'traversal.spec': '/var/../etc/socket',
    'https.json': { Addr: 'https://127.0.0.1:1' },
    'tls.json': { Addr: 'https://127.0.0.1:1', TLSConfig: { CAFile: 'ca.pem' } },
    'unique.json': { Addr: 'http://127.0.0.1:1', UniqueVolumeIds: 'yes' },
    'file.sock': '',
    '..spec': 'http://127.0.0.1:1',
  };
  for (const [name, content] of Object.entries(wrong)) await write(name, content);
  await symlink('/etc/hostname', join(directory, 'link.spec'));
  await write('open.spec', 'http://127.0.0.1:1');
  await chmod(join(directory, 'open.spec'), 0o666);
  await volman.scan();
  assert.deepEqual(volman.listDrivers(), []);
  const named = [...Object.keys(wrong), 'link.spec', 'open.spec'];
  for (const name of named)
    assert.ok(
      logged.some((line) => line.startsWith(`spec file '${join(directory, name)}' `)),
      `${name} is not in ${logged.join('\n')}`,
    );
  assert.equal(logged.length, named.length);
});
