import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { chmod, link, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { containerIsMissing, inStemcellContainer } from './testing/stemcell-container.ts';

const missing = (): string | false =>
  existsSync('/usr/sbin/logrotate') ? containerIsMissing() : 'needs the Debian package logrotate';

/** The logrotate of this machine; `attack` is a shell script that runs each time before it. */
const prepare = (attack: string): string => `mkdir -p "$root/etc/logrotate.d" "$root/var/vcap/data/sys/log"
mount --bind "$state/log" "$root/var/vcap/data/sys/log"
cp "$state/vcap" "$root/etc/logrotate.d/vcap"
printf 'taboopat + vcap\\ninclude /etc/logrotate.d\\n' > "$root/etc/logrotate.conf"
cp /usr/sbin/logrotate "$root/usr/sbin/logrotate.debian"
cat > "$root/usr/sbin/logrotate" <<'PROGRAM'
#!/bin/sh
${attack}
exec /usr/sbin/logrotate.debian "$@"
PROGRAM
chmod 755 "$root/usr/sbin/logrotate"
`;

const large = 'line\n'.repeat(1000);

/** The configuration of an upstream agent, which names paths that job users control. */
const upstreamConfiguration = `# Generated
/var/vcap/data/sys/log/*.log /var/vcap/data/sys/log/*/*.log /var/vcap/data/sys/log/*/*/*.log {
  missingok
  rotate 7
  compress
  copytruncate
  size=1k
}
/var/vcap/data/sys/log/web/folder/root.log {
  copytruncate
  size=1k
}
`;

interface Scene {
  /** Writes a log below the folder of logs. */
  readonly log: (name: string) => Promise<string>;
  readonly path: (name: string) => string;
  readonly rotate: (attack?: string) => Promise<string>;
}

/** A VM with the job `web`, in whose folder of logs every user may write, and a folder `victim` of root. */
async function scene(t: TestContext): Promise<Scene> {
  const state = await mkdtemp(join(tmpdir(), 'logs-'));
  t.after(() => rm(state, { recursive: true }));
  const path = (name: string): string => join(state, name);
  await mkdir(path('log/web/deep'), { recursive: true });
  await mkdir(path('victim'));
  for (const name of ['log/web', 'log/web/deep']) await chmod(path(name), 0o777);
  for (const name of ['root.log', 'other.log']) await writeFile(path(`victim/${name}`), large);
  await writeFile(path('vcap'), upstreamConfiguration);
  return {
    path,
    log: async (name) => {
      await mkdir(dirname(path(name)), { recursive: true });
      await writeFile(path(name), large);
      return path(name);
    },
    rotate: (attack = '') => inStemcellContainer('rotate-logs.sh', { state, prepare: prepare(attack) }),
  };
}

/** Asserts that root changed nothing outside of the folder of logs. */
async function assertIntact({ path }: Scene): Promise<void> {
  assert.deepEqual((await readdir(path('victim'))).toSorted(), ['other.log', 'root.log']);
  for (const name of ['root.log', 'other.log'])
    assert.equal(await readFile(path(`victim/${name}`), 'utf8'), large);
}

test('large logs are rotated to the third level, also hidden ones', { skip: missing() }, async (t) => {
  const { log, path, rotate } = await scene(t);
  const logs = [await log('log/top.log'), await log('log/web/a b.log'), await log('log/web/.hidden.log')];
  logs.push(await log('log/web/deep/deep.log'));
  await writeFile(path('log/web/small.log'), 'line\n');
  await rotate();
  for (const file of logs) {
    assert.equal(await readFile(file, 'utf8'), '', file);
    assert.ok(existsSync(`${file}.1.gz`), file);
  }
  assert.equal(await readFile(path('log/web/small.log'), 'utf8'), 'line\n');
});

test('no link of a job user leads logrotate out of the folder of logs', { skip: missing() }, async (t) => {
  const at = await scene(t);
  const { path, log, rotate } = at;
  await symlink('/state/victim', path('log/web/folder'));
  await symlink('../../../../state/victim', path('log/web/relative'));
  await symlink('/state/victim/root.log', path('log/web/file.log'));
  // With a second link logrotate would refuse root.log, whatever path leads there.
  await link(path('victim/other.log'), path('log/web/hard.log'));
  const written = await log('log/web/written.log');
  await symlink('/state/victim/copy', `${written}.1`);
  await symlink('/state/victim/packed', `${written}.1.gz`);
  await rotate();
  await assertIntact(at);
  assert.equal(await readFile(written, 'utf8'), '');
});

test(
  'a folder that becomes a link while logrotate starts is rotated itself',
  { skip: missing() },
  async (t) => {
    const at = await scene(t);
    const { path, log, rotate } = at;
    await log('log/web/deep/root.log');
    const logs = '/var/vcap/data/sys/log/web';
    await rotate(
      `case $(/bin/pwd -P) in ${logs}/deep) mv ${logs}/deep ${logs}/moved && ln -s /state/victim ${logs}/deep ;; esac`,
    );
    await assertIntact(at);
    assert.equal(await readFile(path('log/web/moved/root.log'), 'utf8'), '');
  },
);
