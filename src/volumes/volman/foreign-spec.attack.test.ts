import assert from 'node:assert/strict';
import { chmod, chown, link, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { discoverDrivers } from './discover-drivers.ts';
import { smallDriver } from './testing/small-driver.ts';
import { Volman } from './volman.ts';

const attacker = 65_534;
const skip = process.geteuid?.() === 0 ? false : 'only root can give files to another user';

// the directory of spec files has mode 777, and a driver gets the passwords of volumes
test('a driver of another user gets no request, although its spec file comes first', { skip }, async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'volman-'));
  t.after(() => rm(directory, { recursive: true }));
  await chmod(directory, 0o777);
  const [own, foreign] = [await smallDriver(), await smallDriver()];
  const socket = await smallDriver({ socketPath: join(directory, 'smbdriver.sock') });
  t.after(() => Promise.all([own, foreign, socket].map(async (driver) => driver.stop())));
  await chown(join(directory, 'smbdriver.sock'), attacker, attacker);
  await writeFile(join(directory, 'nfsv3driver.spec'), own.url);
  const fake = join(directory, 'nfsv3driver.json');
  await writeFile(fake, JSON.stringify({ Addr: foreign.url, UniqueVolumeIds: true }));
  await chown(fake, attacker, attacker);
  await link(fake, join(directory, 'other.json'));
  const logged: string[] = [];
  const volman = new Volman({
    directories: [directory],
    mountDirectories: ['/var/vcap/data'],
    deadlines: { short: 60, mount: 60 },
    metrics: { count: () => undefined, time: () => undefined },
    log: (line) => void logged.push(line),
    clock: () => 0,
  });
  await volman.scan();
  assert.deepEqual(volman.listDrivers(), ['nfsv3driver']);
  await volman.mount({ driver: 'nfsv3driver', volumeId: 'v', containerId: 'c' }, { password: 'p' });
  assert.deepEqual([own.requests.length, foreign.requests, socket.requests], [3, [], []]);
  for (const name of ['nfsv3driver.json', 'other.json', 'smbdriver.sock'])
    assert.ok(logged.some((line) => line.includes(`${join(directory, name)}' belongs to user ${attacker}`)));
});

// a user who can write there can remove the socket after its owner was checked, and listen instead
test('no driver is called through a socket that another user can replace', { skip }, async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'volman-'));
  t.after(() => rm(directory, { recursive: true }));
  const socketPath = join(directory, 'smbdriver.sock');
  const driver = await smallDriver({ socketPath });
  t.after(() => driver.stop());
  await writeFile(join(directory, 'nfsv3driver.spec'), `unix://${socketPath}`);
  for (const mode of [0o777, 0o770, 0o1777, 0o755]) {
    await chmod(directory, mode);
    const isOpen = mode === 0o777 || mode === 0o770;
    const { specs, ignored: refusals } = await discoverDrivers([directory]);
    assert.equal(specs.length, isOpen ? 0 : 2, mode.toString(8));
    assert.equal(refusals.filter((line) => line.includes('chmod +t')).length, isOpen ? 2 : 0);
  }
  await chown(directory, attacker, attacker);
  assert.deepEqual((await discoverDrivers([directory])).specs, []);
});
