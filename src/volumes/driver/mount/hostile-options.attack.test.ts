import assert from 'node:assert/strict';
import { chmod, chown, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { mountCommand, type MountSpec } from './mount-command.ts';
import { MountError } from './mount-error.ts';
import { ShareMounter } from './share-mounter.ts';
import { nfs, smb } from './testing/plain-orders.ts';

const attacks: Readonly<Record<string, MountSpec>> = {
  'an option in a domain': { ...smb, domain: 'W,noperm' },
  'an option in a user name': { ...smb, username: 'u,uid=0' },
  'an option in a file mode': { ...smb, fileMode: '0777,suid' },
  'an option in a security mode': { ...smb, security: 'none,credentials=/etc/shadow' },
  'a second line in a user name': { ...smb, username: 'u\npassword=x' },
  'a second line in a password': { ...smb, password: 'p\nuid=0' },
  'a share that mount.cifs takes for options': { ...smb, share: '//h/s,uid=0' },
  'a host that mount.nfs takes for an option': { ...nfs, host: '-o' },
  'a share that mount.cifs takes for an option': { ...smb, share: '-ouid=0' },
};

for (const [name, spec] of Object.entries(attacks))
  test(`${name} is refused`, () => {
    assert.throws(
      () => mountCommand(spec, '/t'),
      (error) => error instanceof MountError && error.code === 'INVALID_OPTION',
    );
  });

const noRoot = process.geteuid?.() !== 0 && 'needs root, whose the folder of mounts has to be';

/** Returns a directory of root with a mount(8) that records its arguments and fails. */
async function recordingMount(t: TestContext, end: string): Promise<{ directory: string; bin: string }> {
  const directory = await mkdtemp(join(tmpdir(), 'share-mounter-'));
  t.after(() => rm(directory, { recursive: true }));
  const bin = join(directory, 'bin');
  await mkdir(bin);
  const notes = `cat /proc/$$/cmdline > ${directory}/argv; cat /proc/$$/environ > ${directory}/environ`;
  await writeFile(join(bin, 'mount'), `#!/bin/sh\n${notes}; ${end}\n`, { mode: 0o755 });
  return { directory, bin: `${bin}:/usr/bin:/bin` };
}

test(
  'a password reaches mount(8) by a file descriptor only, and appears in no error',
  { skip: noRoot },
  async (t) => {
    const { directory, bin } = await recordingMount(t, 'cat <&3 | tee "$(dirname "$0")/../got" >&2; exit 32');
    const password = `correct,horse="battery" \\staple`;
    const mounter = new ShareMounter({ searchPath: bin });
    await assert.rejects(
      mounter.mount({ ...smb, password }, join(directory, 't'), AbortSignal.timeout(60_000)),
      (error) =>
        error instanceof MountError &&
        !error.message.includes('staple') &&
        error.message.includes('redacted'),
    );
    assert.equal(await readFile(join(directory, 'got'), 'utf8'), password);
    for (const file of ['argv', 'environ'])
      assert.doesNotMatch(await readFile(join(directory, file), 'utf8'), /horse|staple/u, file);
  },
);

test('a mount(8) that does not end is killed with all that it started', { skip: noRoot }, async (t) => {
  const { directory, bin } = await recordingMount(t, `sleep 1000 & echo $! > "$(dirname "$0")/../pid"; wait`);
  const mounter = new ShareMounter({ searchPath: bin, mountSeconds: 1 });
  await assert.rejects(
    mounter.mount(smb, join(directory, 't'), AbortSignal.timeout(60_000)),
    (error) => error instanceof MountError && error.code === 'TIMED_OUT',
  );
  const pid = (await readFile(join(directory, 'pid'), 'utf8')).trim();
  const state = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => 'gone');
  assert.match(state, /^gone$|\) [ZX] /u);
});

test('nothing is mounted in a directory that others can write', { skip: noRoot }, async (t) => {
  const { directory, bin } = await recordingMount(t, 'exit 0');
  const mounter = new ShareMounter({ searchPath: bin });
  const refused = async (): Promise<void> =>
    assert.rejects(mounter.mount(smb, join(directory, 't'), AbortSignal.timeout(60_000)), /go-w/u);
  await chmod(directory, 0o777);
  await refused();
  await chmod(directory, 0o711);
  await chown(directory, 65534, 65534);
  await refused();
  await assert.rejects(readFile(join(directory, 'argv')), 'mount was not called');
});

// as in the mount directory of the old drivers, where every user could write (mode 777)
test('a link at the path of an intermediate mount is not followed', { skip: noRoot }, async (t) => {
  const { directory, bin } = await recordingMount(t, 'exit 0');
  await mkdir(join(directory, 'machine'));
  await symlink(join(directory, 'machine'), join(directory, 't_mapfs'));
  const mounter = new ShareMounter({ searchPath: bin });
  const ids = { uid: 4000, gid: 4000 };
  await assert.rejects(
    mounter.mount({ ...nfs, ids }, join(directory, 't'), AbortSignal.timeout(60_000)),
    (error) => error instanceof MountError && error.message.includes("t_mapfs' must be an empty folder"),
  );
  await assert.rejects(readFile(join(directory, 'argv')), 'mount was not called');
});

test("no share is mounted with the machine's own Kerberos ticket", () => {
  const [, , , options = ''] = mountCommand({ ...smb, security: 'krb5i' }, '/t').args;
  assert.ok(options.split(',').includes('cruid=2000'), options);
});
