import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmod,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { parseMountInfo } from '../../../platform/mountinfo.ts';
import { bindMounter } from './bind-mounter.ts';
import type { NfsMountSpec } from './mount-command.ts';
import type { Mounter } from './mounter.ts';
import { exportsIn } from './nfs-mounter.ts';
import { ShareMounter, type ShareMounterOptions } from './share-mounter.ts';
import { smb } from './testing/plain-orders.ts';
import { type MounterSubject, mounterSuite } from './testing/mounter-suite.ts';

/** Real mounts on this machine, whose kernel may lack NFS. `npm run test:mounts` tests with real shares. */
const skip =
  (process.geteuid?.() !== 0 && 'needs root') ||
  (spawnSync('unshare', ['--mount', 'true']).status !== 0 && 'needs the right to mount');

const spec: NfsMountSpec = {
  kind: 'nfs',
  host: 'server',
  path: '/share',
  readOnly: false,
  attributeCaching: false,
};
const mapped: NfsMountSpec = { ...spec, ids: { uid: 4000, gid: 4001 } };
const inTime = AbortSignal.timeout(600_000);
let scratch = '';
let subjects: Readonly<Record<'bind' | 'plain' | 'mapfs', MounterSubject>>;

before(async () => {
  if (skip !== false) return;
  scratch = await mkdtemp(join(tmpdir(), 'mounters-'));
  const bin = join(scratch, 'bin');
  for (const directory of ['bin', 'server', 'server/share']) await mkdir(join(scratch, directory));
  await chmod(join(scratch, 'server/share'), 0o777);
  await writeFile(join(bin, 'mount'), fakeMount(join(scratch, 'server')), { mode: 0o755 });
  await writeFile(join(bin, 'umount'), fakeUmount(scratch), { mode: 0o755 });
  await writeFile(join(bin, 'mapfs'), fakeMapfs(scratch), { mode: 0o755 });
  execFileSync('mkfifo', [join(scratch, 'fifo')]);
  const searchPath = `${bin}:/usr/sbin:/usr/bin:/sbin:/bin`;
  subjects = {
    bind: await subject('bind', bindMounter(join(scratch, 'server')), spec),
    plain: await subject('plain', new ShareMounter({ ...parts, searchPath }), spec),
    mapfs: await subject(
      'mapfs',
      new ShareMounter({ ...parts, searchPath, mapfsPath: join(bin, 'mapfs') }),
      mapped,
    ),
  };
});
after(() => scratch !== '' && rm(scratch, { recursive: true }));

/** Options with the kernel's mounts, in which those of the fake server appear as mounts of an NFS server. */
const parts: ShareMounterOptions = {
  resolve: async () => ['10.0.0.1'],
  entries: async () =>
    parseMountInfo(await readFile('/proc/self/mountinfo', 'utf8')).map((entry) => ({
      ...entry,
      source: `10.0.0.1:${/\/mounters-[^/]*\/server(\/.*)?$/u.exec(entry.root)?.[1] ?? '/'}`,
      fileSystemOptions: ['addr=10.0.0.1'],
    })),
};

/** A fake mount(8): it binds a directory of the test instead of the root of an NFS server. */
const fakeMount = (server: string): string => `#!/bin/sh
case "$1$2$4" in -i-cremount,*) exec /bin/mount "$@" ;; esac
case "$1$2$3" in -i-c--bind) exec /bin/mount "$@" ;; esac
[ "$1$2$3$5$6" = "-tnfs-o--10.0.0.1:/" ] || exit 1
folder="${server}"
case ",$4," in *,ro,*) exec /bin/mount -o bind,ro -- "$folder" "$7" ;; esac
exec /bin/mount --bind -- "$folder" "$7"
`;

/** A umount(8) that records its arguments. */
const fakeUmount = (directory: string): string => `#!/bin/sh
echo "$*" >> ${directory}/umounts
exec /bin/umount "$@"
`;

/** A fake mapfs: a bind mount, and a process that keeps running. */
const fakeMapfs = (directory: string): string => `#!/bin/sh
echo "$1 $2 $3 $4" > ${directory}/mapfs-arguments
/bin/mount --bind -- "$6" "$5"
read line < ${directory}/fifo
`;

async function subject(name: string, mounter: Mounter, ofShare: NfsMountSpec): Promise<MounterSubject> {
  const directory = join(scratch, name);
  await mkdir(directory, { mode: 0o711 });
  return {
    mounter,
    directory,
    spec: ofShare,
    missing: { ...ofShare, path: '/missing' },
    makeDirectory: async (path) => void (await mkdir(path, { recursive: true })),
    write: (path, file, text) => writeFile(join(path, file), text),
    read: (path, file) => readFile(join(path, file), 'utf8'),
    holdOpen: async (path, file) => {
      const opened = await open(join(path, file));
      return () => opened.close();
    },
  };
}

mounterSuite('bind mounts', () => subjects.bind, skip);
mounterSuite('mount(8)', () => subjects.plain, skip);
mounterSuite('mount(8) and mapfs', () => subjects.mapfs, skip);

test('a share that is in use and responds is not unmounted by force', { skip }, async () => {
  const { mounter, directory, write, holdOpen } = subjects.plain;
  const target = join(directory, 'in use');
  await mkdir(target);
  await mounter.mount(spec, target, inTime);
  await write(target, 'file', 'text');
  const close = await holdOpen(target, 'file');
  await writeFile(join(scratch, 'umounts'), '');
  await mounter.unmount(target, inTime);
  await close();
  const calls = await readFile(join(scratch, 'umounts'), 'utf8');
  assert.equal(calls, `-i -c -- ${target}\n-i -c -l -- ${target}\n`);
});

test('the exports of an NFS 3 server are parsed, with any client names', () => {
  const text = '/a b    10.0.0.0/8,host\n/long   (everyone)\n//c/./d/ *\nExport list for h:\n\n';
  assert.deepEqual(exportsIn(text), ['/a b', '/long', '/c/d']);
  // a server can make the list long, and the driver does nothing else while it parses it
  assert.equal(exportsIn(`/x ${' '.repeat(3_000_000)}y `).length, 1);
});

// as mount.cifs on a kernel without the module nls_utf8
test(
  'a kernel without its UTF-8 table mounts SMB with its own character set, and the driver reports it',
  { skip },
  async () => {
    const directory = join(scratch, 'no-utf8');
    await mkdir(directory, { mode: 0o711 });
    const refusal = 'mount error(79): Can not access a needed shared library';
    const script = `#!/bin/sh
echo "$4" >> ${directory}/options
case "$4" in *iocharset=utf8*) echo "${refusal}" >&2; exit 32 ;; esac
exec /bin/mount --bind -- ${scratch}/server/share "$7"
`;
    await writeFile(join(directory, 'mount'), script, { mode: 0o755 });
    const notes: string[] = [];
    const searchPath = `${directory}:/usr/sbin:/usr/bin:/sbin:/bin`;
    const mounter = new ShareMounter({ searchPath, note: (text) => notes.push(text) });
    const target = join(directory, 'target');
    await mkdir(target);
    await mounter.mount(smb, target, inTime);
    await mounter.unmount(target, inTime);
    const options = (await readFile(join(directory, 'options'), 'utf8')).trim().split('\n');
    assert.deepEqual(
      options.map((each) => each.split(',').includes('iocharset=utf8')),
      [true, false],
    );
    assert.equal(options[1], options[0]?.replace(',iocharset=utf8', ''));
    assert.match(notes.join('|'), /^[^|]*nls_utf8[^|]*$/u);
  },
);

test('mapfs gets the ids, and ends with its mount', { skip }, async () => {
  const { mounter, directory } = subjects.mapfs;
  const target = join(directory, 'ids');
  await mkdir(target);
  await mounter.mount(mapped, target, inTime);
  assert.equal(await readFile(join(scratch, 'mapfs-arguments'), 'utf8'), '-uid 4000 -gid 4001\n');
  assert.equal(await helpersOf(target), 1);
  await mounter.unmount(target, inTime);
  assert.equal(await helpersOf(target), 0);
  await assert.rejects(stat(`${target}_mapfs`), { code: 'ENOENT' });
});

test('a target with a mount, and a name reserved for a part of one, are refused', { skip }, async () => {
  const { mounter, directory } = subjects.plain;
  const target = join(directory, 'taken');
  await mkdir(target);
  await mounter.mount(spec, target, inTime);
  await assert.rejects(mounter.mount(spec, target, inTime), { code: 'BUSY' });
  await mounter.unmount(target, inTime);
  await assert.rejects(mounter.mount(spec, `${target}_mapfs`, inTime), { code: 'INVALID_OPTION' });
  assert.deepEqual(await mounter.listMounts(directory), []);
});

// another client of the share can replace a directory by a link
test('links do not lead out of the directory that the mapfs helper reads', { skip }, async () => {
  const { mounter, directory } = subjects.mapfs;
  const target = join(directory, 'links');
  await mkdir(target);
  const link = join(scratch, 'server/share/link');
  await symlink('/etc', link);
  for (const readOnly of [false, true]) {
    await mounter.mount({ ...mapped, readOnly }, target, inTime);
    await assert.rejects(readFile(`${target}_mapfs/link/hostname`), { code: 'ELOOP' });
    assert.equal(await readlink(`${target}_mapfs/link`), '/etc');
    const { options } =
      parseMountInfo(await readFile('/proc/self/mountinfo', 'utf8')).find(
        (entry) => entry.target === `${target}_mapfs`,
      ) ?? {};
    for (const option of ['nosuid', 'nodev', readOnly ? 'ro' : 'rw']) assert.ok(options?.includes(option));
    await mounter.unmount(target, inTime);
  }
  await rm(link);
});

/** Returns the number of processes with that path in their arguments. */
async function helpersOf(path: string): Promise<number> {
  const all = (await readdir('/proc')).filter((name) => /^\d+$/u.test(name));
  const lines = await Promise.all(all.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')));
  return lines.filter((line) => line.split('\0').includes(path)).length;
}
