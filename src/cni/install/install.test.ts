import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { CniPaths } from './arguments.ts';
import { managedConflistName } from './conflist.ts';
import { install, isInstalled, uninstall } from './install.ts';
import { Executable } from './executable.ts';

const bridge = (name: string): string =>
  JSON.stringify({
    cniVersion: '1.0.0',
    name,
    plugins: [{ type: 'bridge', ipam: { type: 'host-local', subnet: '10.88.0.0/16' } }],
  });

interface Node {
  readonly paths: CniPaths;
  readonly executable: Executable;
  /** Returns every file of both folders with its bytes. */
  readonly state: () => Promise<Record<string, string>>;
  readonly file: (path: string, text: string) => Promise<void>;
}

async function node(context: TestContext): Promise<Node> {
  const root = await mkdtemp(join(tmpdir(), 'static-ip-node-'));
  context.after(() => rm(root, { recursive: true, force: true }));
  const file = (path: string, text: string): Promise<void> => writeFile(join(root, path), text);
  for (const directory of ['net.d', 'bin']) await mkdir(join(root, directory));
  await file('static-ip', 'the executable');
  await file('net.d/10-pods.conflist', bridge('pods'));
  await file('bin/bridge', 'bridge');
  return {
    file,
    paths: {
      conflistDirectory: join(root, 'net.d'),
      binDirectory: join(root, 'bin'),
      conflist: undefined,
      plugin: undefined,
      namespaces: undefined,
    },
    executable: new Executable(join(root, 'static-ip')),
    state: async () => {
      const entries: [string, string][] = [];
      for (const directory of ['bin', 'net.d'])
        for (const name of (await readdir(join(root, directory))).toSorted())
          entries.push([`${directory}/${name}`, await readFile(join(root, directory, name), 'utf8')]);
      return Object.fromEntries(entries);
    },
  };
}

const before = { 'bin/bridge': 'bridge', 'net.d/10-pods.conflist': bridge('pods') };

test('installs beside the existing network, and restores it', async (context) => {
  const { paths, executable, state } = await node(context);
  assert.equal(await isInstalled(paths, executable), false);
  assert.match(await install(paths, executable), /in front of 10-pods\.conflist/u);
  const { [`net.d/${managedConflistName}`]: ours = '', 'bin/static-ip': copy, ...rest } = await state();
  assert.deepEqual(rest, before);
  assert.equal(copy, 'the executable');
  assert.equal((JSON.parse(ours) as { name: string }).name, 'pods');
  assert.equal((await stat(join(paths.binDirectory, 'static-ip'))).mode & 0o777, 0o755);
  assert.equal([managedConflistName, '10-pods.conflist'].toSorted()[0], managedConflistName);
  assert.equal(await isInstalled(paths, executable), true);
  await uninstall(paths);
  assert.deepEqual(await state(), before);
  await uninstall(paths);
  assert.deepEqual(await state(), before);
});

test('a second install writes nothing', async (context) => {
  const { paths: cniPaths, executable } = await node(context);
  await install(cniPaths, executable);
  const paths = [
    join(cniPaths.binDirectory, 'static-ip'),
    join(cniPaths.conflistDirectory, managedConflistName),
  ];
  const inodes = async (): Promise<unknown> => Promise.all(paths.map(async (path) => (await stat(path)).ino));
  const first = await inodes();
  await install(cniPaths, executable);
  assert.deepEqual(await inodes(), first);
});

test('after a killed installer, the next one installs, and a removal restores the original network', async (context) => {
  const whole = await node(context);
  await install(whole.paths, whole.executable);
  const finished = await whole.state();
  const own = `net.d/${managedConflistName}`;
  const states: readonly Record<string, string>[] = [
    { 'bin/.static-ip-unfinished-1': 'the exec' },
    { 'bin/static-ip': 'the executable' },
    { 'bin/static-ip': 'the executable', 'net.d/.static-ip-unfinished-2': '{"cniVers' },
    { 'bin/static-ip': 'an older executable', [own]: finished[own] ?? '' },
    { 'bin/static-ip': 'THE EXECUTABLE', [own]: '{}' },
    { [own]: finished[own] ?? '' },
    { ...finished, 'bin/.static-ip-allowed': '' },
  ];
  for (const files of states) {
    for (const again of [true, false]) {
      const { paths, executable, state, file } = await node(context);
      for (const [path, text] of Object.entries(files)) await file(path, text);
      if (again) {
        await install(paths, executable);
        const { 'bin/.static-ip-allowed': known, ...rest } = await state();
        assert.equal(known, files['bin/.static-ip-allowed']);
        assert.deepEqual(rest, finished);
      }
      await uninstall(paths);
      assert.deepEqual(await state(), before);
    }
  }
});

test('follows the network when its owner changes it, and is removed when the network is removed', async (context) => {
  const { paths, executable, state, file } = await node(context);
  await install(paths, executable);
  await file('net.d/10-pods.conflist', bridge('renamed'));
  await install(paths, executable);
  const ours = (await state())[`net.d/${managedConflistName}`] ?? '';
  assert.equal((JSON.parse(ours) as { name: string }).name, 'renamed');
  await rm(join(paths.conflistDirectory, '10-pods.conflist'));
  assert.match(await install(paths, executable), /waiting/u);
  assert.equal(`net.d/${managedConflistName}` in (await state()), false);
  assert.equal(await isInstalled(paths, executable), false);
});

test('wraps the network that the runtime uses, or the named one', async (context) => {
  const { paths, executable, state, file } = await node(context);
  await file('net.d/99-loopback.conf', '{"cniVersion":"1.0.0","name":"lo","type":"loopback"}');
  await file('net.d/20-other.conflist', bridge('other'));
  await file('net.d/README', 'text');
  const name = async (): Promise<string> =>
    (JSON.parse((await state())[`net.d/${managedConflistName}`] ?? '') as { name: string }).name;
  await install(paths, executable);
  assert.equal(await name(), 'pods');
  await install({ ...paths, conflist: '20-other.conflist' }, executable);
  assert.equal(await name(), 'other');
});

test('a network with a byte order mark is wrapped', async (context) => {
  const { paths, executable, file } = await node(context);
  await file('net.d/10-pods.conflist', `\uFEFF${bridge('pods')}`);
  for (let times = 0; times < 2; times += 1)
    assert.match(await install(paths, executable), /in front of 10-pods\.conflist/u);
  assert.equal(await isInstalled(paths, executable), true);
});

test('keeps a secret configuration secret', async (context) => {
  const { paths, executable } = await node(context);
  await chmod(join(paths.conflistDirectory, '10-pods.conflist'), 0o600);
  await install(paths, executable);
  assert.equal((await stat(join(paths.conflistDirectory, managedConflistName))).mode & 0o777, 0o600);
});

test('has the file mode of the wrapped configuration, whatever the umask is', async (context) => {
  const { paths, executable } = await node(context);
  const ours = join(paths.conflistDirectory, managedConflistName);
  const umask = process.umask(0o077);
  context.after(() => void process.umask(umask));
  for (const mode of [0o666, 0o644, 0o600]) {
    await chmod(join(paths.conflistDirectory, '10-pods.conflist'), mode);
    await install(paths, executable);
    assert.equal((await stat(ours)).mode & 0o777, mode);
  }
  const { ino } = await stat(ours);
  await install(paths, executable);
  assert.equal((await stat(ours)).ino, ino, 'not written again');
});

test('a network into which the operator put static-ip is not changed, and its executable is installed', async (context) => {
  const { paths, executable, state, file } = await node(context);
  await install(paths, executable);
  const ours = join(paths.conflistDirectory, managedConflistName);
  await rename(ours, join(paths.conflistDirectory, '05-mine.conflist'));
  assert.match(await install(paths, executable), /05-mine\.conflist uses static-ip already/u);
  assert.equal(await isInstalled(paths, executable), true);
  assert.match(await uninstall(paths), /stays, because 05-mine\.conflist uses it/u);
  assert.deepEqual(Object.keys(await state()), [
    'bin/bridge',
    'bin/static-ip',
    'net.d/05-mine.conflist',
    'net.d/10-pods.conflist',
  ]);
  await file('net.d/05-mine.conflist', bridge('mine'));
});

test('names the file that prevents the installation, and changes nothing', async (context) => {
  const { paths, executable, state, file } = await node(context);
  await file('net.d/00-!.conflist', bridge('first'));
  const all = await state();
  await assert.rejects(install(paths, executable), {
    code: 'STATIC_IP_NOT_INSTALLED',
    message: /00-!\.conflist comes before 00-0-static-ip\.conflist/u,
  });
  await rm(join(paths.conflistDirectory, '00-!.conflist'));
  await file('net.d/10-pods.conflist', '{');
  await assert.rejects(install(paths, executable), { message: /10-pods\.conflist is not a JSON object/u });
  assert.deepEqual(
    Object.keys(await state()),
    Object.keys(all).filter((name) => name !== 'net.d/00-!.conflist'),
  );
});

const withoutIpam = JSON.stringify({ cniVersion: '1.0.0', name: 'pods', plugins: [{ type: 'portmap' }] });

test('is removed with its network if no other network can be wrapped, and says why', async (context) => {
  const loopback = '{"cniVersion":"1.0.0","name":"lo","type":"loopback"}';
  for (const [leftover, message] of [
    [undefined, /99-loopback\.conf has no plugin with an ipam/u],
    [withoutIpam, /10-pods\.conflist has no plugin with an ipam/u],
    [bridge('pods').replace('1.0.0', '9.0.0'), /10-pods\.conflist has no cniVersion/u],
    ['[]', /10-pods\.conflist is not a JSON object/u],
  ] as const) {
    const { paths, executable, state, file } = await node(context);
    await file('net.d/99-loopback.conf', loopback);
    await install(paths, executable);
    if (leftover === undefined) await rm(join(paths.conflistDirectory, '10-pods.conflist'));
    else await file('net.d/10-pods.conflist', leftover);
    await assert.rejects(install(paths, executable), { code: 'STATIC_IP_NOT_INSTALLED', message });
    assert.equal(`net.d/${managedConflistName}` in (await state()), false, String(message));
  }
});

test('stays while its network is being written, and logs that', async (context) => {
  const { paths, executable, state, file } = await node(context);
  await install(paths, executable);
  const whole = (await state())[`net.d/${managedConflistName}`];
  for (const half of ['', bridge('pods').slice(0, 40)]) {
    await file('net.d/10-pods.conflist', half);
    assert.match(
      await install(paths, executable),
      /10-pods\.conflist is not valid JSON.*00-0-static-ip\.conflist is not changed/u,
    );
    assert.equal((await state())[`net.d/${managedConflistName}`], whole);
  }
});

test('only regular files are networks, as for a runtime', async (context) => {
  const { paths, executable, state } = await node(context);
  const names = ['00-1-folder.conf', '00-2-fifo.conflist', '00-3-nowhere.conf', '00-4-loop.json'];
  const [directory = '', fifo = '', nowhere = '', loop = ''] = names.map((name) =>
    join(paths.conflistDirectory, name),
  );
  await mkdir(directory);
  assert.equal(spawnSync('mkfifo', [fifo]).status, 0);
  await symlink('/nowhere', nowhere);
  await symlink(loop, loop);
  assert.match(await install(paths, executable), /in front of 10-pods\.conflist/u);
  assert.equal(await isInstalled(paths, executable), true);
  assert.match(await uninstall(paths), /is removed; the original network is restored/u);
  for (const path of [directory, fifo, nowhere, loop]) await rm(path, { recursive: true });
  assert.deepEqual(await state(), before);
});

test('follows a symbolic link to a network', async (context) => {
  const { paths, executable, file } = await node(context);
  await file('elsewhere', bridge('linked'));
  await symlink('../elsewhere', join(paths.conflistDirectory, '05-link.conflist'));
  assert.match(await install(paths, executable), /in front of 05-link\.conflist/u);
});

test('a network that cannot be read prevents no removal, and the executable that it may use stays', async (context) => {
  const { paths, executable, state } = await node(context);
  await install(paths, executable);
  await writeFile(join(paths.binDirectory, '.static-ip-allowed'), '');
  const unreadable = join(paths.conflistDirectory, '20-unreadable.conf');
  // a regular file that even root cannot read
  await symlink('/proc/self/mem', unreadable);
  assert.match(
    await uninstall(paths),
    /00-0-static-ip\.conflist is removed; the executable stays, because 20-unreadable\.conf may use it and cannot be read \(EIO/u,
  );
  await rm(unreadable);
  assert.deepEqual(Object.keys(await state()), ['bin/bridge', 'bin/static-ip', 'net.d/10-pods.conflist']);
  await uninstall(paths);
  assert.deepEqual(await state(), before);
});
