import assert from 'node:assert/strict';
import { chmod, mkdir, readFile, readlink, stat, symlink, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { createTestAuthority } from '../../kubernetes/testing/certificates.ts';
import { parseDriverConfig } from './config.ts';
import { driverDirectory, testDriver } from './testing/test-driver.ts';

const paths = ['-driversPath', '/d', '-mountDir', '/m'];

test('the flags of the upstream drivers have their defaults', () => {
  const nfs = parseDriverConfig([
    '--name',
    'nfsv3driver',
    ...paths,
    '-debugAddr=127.0.0.1:7689',
    '-logLevel=info',
    '-mapfsPath',
    '/mapfs',
  ]);
  assert.deepEqual(nfs.transport, {
    kind: 'tcp',
    listen: { host: '127.0.0.1', port: 7589 },
    specFile: 'spec',
  });
  assert.deepEqual([nfs.protocol, nfs.admin.port, nfs.mapfsPath], ['nfs', 7590, '/mapfs']);
  assert.deepEqual(nfs.sameServers, []);
  const smb = parseDriverConfig([
    '-name=smbdriver',
    ...paths,
    '-listenPort',
    '1',
    '-adminPort=2',
    '-forceNoDfs',
    '-transport',
    'tcp-json',
  ]);
  assert.deepEqual(smb.transport, { kind: 'tcp', listen: { host: '127.0.0.1', port: 1 }, specFile: 'json' });
  assert.deepEqual([smb.admin.port, smb.forcedFlags], [2, { noserverino: false, nodfs: true }]);
  const unix = parseDriverConfig(['-name', 'smbdriver', ...paths, '-transport', 'unix']);
  assert.deepEqual(unix.transport, { kind: 'unix', path: '/d/smbdriver.sock' });
  const ipv6 = parseDriverConfig([
    '-name',
    'nfsv3driver',
    ...paths,
    '-listenAddr',
    '[::1]:5',
    '-mountTimeout=2m',
  ]);
  assert.deepEqual(
    [ipv6.transport.kind === 'tcp' && ipv6.transport.listen, ipv6.deadlines.mount],
    [{ host: '::1', port: 5 }, 120_000],
  );
});

test('all invalid flags are in one error', () => {
  const args = [
    '-name',
    'x',
    '-mountDir',
    'rel',
    '-adminAddr',
    'nohost',
    '-transport',
    'udp',
    '-requireSSL=maybe',
    '-mountTimeout',
    '5',
    '-signatures',
    'require',
    '-unknown',
    '-listenPort',
  ];
  const named = [
    '-name must be',
    '-driversPath',
    '-mountDir',

    '-adminAddr must',
    '-transport must',
    '-requireSSL must',
    '-mountTimeout must',
    '-signatureKeys is missing',
    '"-unknown"',
    '-listenPort needs',
  ];
  assert.throws(
    () => parseDriverConfig(args),
    (error: Error) => named.every((each) => error.message.includes(each)) || assert.fail(error.message),
  );
});

test('one spec file per name is written in a directory that all can write, over any entry, and removed with the driver', async (t) => {
  const directory = await driverDirectory(t);
  const drivers = join(directory, 'drivers');
  await mkdir(drivers);
  await chmod(drivers, 0o777);
  await writeFile(join(directory, 'precious'), 'precious');
  await symlink(join(directory, 'precious'), join(drivers, 'nfsv3driver.spec'));
  await writeFile(join(drivers, 'nfsv3driver.json'), '{"Addr":"http://evil"}');
  const { running } = await testDriver(t, { directory });
  assert.equal(await readFile(join(directory, 'precious'), 'utf8'), 'precious');
  const spec = join(drivers, 'nfsv3driver.spec');
  assert.equal(await readFile(spec, 'utf8'), `http://${running.address}`);
  await assert.rejects(readlink(spec));
  await assert.rejects(stat(join(drivers, 'nfsv3driver.json')), { code: 'ENOENT' });
  assert.equal((await stat(spec)).mode & 0o777, 0o644);
  await running.stop();
  await assert.rejects(stat(spec), { code: 'ENOENT' });

  await mkdir(spec);
  await assert.rejects(testDriver(t, { directory }), {
    code: 'DRIVER_CONFIG_INVALID',
    message: /nfsv3driver\.spec/u,
  });
});

test("mutual TLS: the json file names the client's files, and a client without a certificate of the CA gets no response", async (t) => {
  const directory = await driverDirectory(t);
  const authority = await createTestAuthority();
  const own = await authority.server({ ip: '127.0.0.1' });
  const client = await authority.client('volman');
  const stranger = await (await createTestAuthority()).client('volman');
  const files = {
    ca: authority.ca,
    cert: own.certificate,
    key: own.key,
    clientCert: client.certificate,
    clientKey: client.key,
  };
  for (const [name, pem] of Object.entries(files))
    await writeFile(join(directory, name), pem, { mode: 0o600 });
  const args = [
    '-transport',
    'tcp-json',
    '-requireSSL',
    ...Object.keys(files).flatMap((name) => [`-${name}File`, join(directory, name)]),
  ];
  const { running } = await testDriver(t, { directory, args });
  const spec = JSON.parse(await readFile(join(directory, 'drivers', 'nfsv3driver.json'), 'utf8')) as object;
  assert.deepEqual(spec, {
    Name: 'nfsv3driver',
    Addr: `https://${running.address}`,
    TLSConfig: {
      InsecureSkipVerify: false,
      CAFile: join(directory, 'ca'),
      CertFile: join(directory, 'clientCert'),
      KeyFile: join(directory, 'clientKey'),
    },
    UniqueVolumeIds: true,
  });
  const activate = (shown: { cert?: string; key?: string }): Promise<string> =>
    new Promise((resolve, reject) => {
      request(
        `https://${running.address}/Plugin.Activate`,
        { method: 'POST', ca: authority.ca, agent: false, ...shown },
        (response) => resolve(text(response)),
      )
        .on('error', reject)
        .end();
    });
  assert.match(await activate({ cert: client.certificate, key: client.key }), /VolumeDriver/u);
  await assert.rejects(activate({}));
  await assert.rejects(activate({ cert: stranger.certificate, key: stranger.key }));
});
