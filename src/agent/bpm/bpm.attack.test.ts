import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { lstat, mkdir, readFile, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { BpmScene } from '../testing/bpm-scene.ts';
import { asHostileUser, hostileUserIsMissing } from '../testing/hostile-user.ts';

const options = { skip: hostileUserIsMissing, timeout: 120_000 };

const config = `processes:
- name: web
  executable: /bin/sh
  args: [-c, "id -u; exec sleep 1000"]
  ephemeral_disk: true
  additional_volumes: [{ path: $BASE/data/web/shared }]
  env: { LD_PRELOAD: $BASE/data/web/own.so, BASH_ENV: $BASE/data/web/own.sh, ENV: $BASE/data/web/own.sh }
`;

async function opened(t: Parameters<typeof BpmScene.open>[0]): Promise<{
  readonly scene: BpmScene;
  /** Runs a script as vcap in the base directory. */
  readonly attack: (script: string) => Promise<void>;
}> {
  const scene = await BpmScene.open(t);
  await scene.addJob('web', config);
  // The agent creates a directory for every job in the same way.
  await scene.addJob('bpm', 'processes: []\n');
  await mkdir(scene.path('bosh/secret'), { mode: 0o700 });
  await writeFile(scene.path('bosh/canary'), 'alive', { mode: 0o600 });
  const attack = async (script: string): Promise<void> => {
    const { code, output } = await asHostileUser(`cd "$BASE" && ${script}`, { BASE: scene.directories.base });
    assert.equal(code, 0, output);
  };
  return { scene, attack };
}

for (const [what, script] of [
  ['a link as a log', 'ln -s "$BASE/bosh/canary" data/sys/log/web/web.stdout.log'],
  ['a link to nothing as a log', 'ln -s "$BASE/bosh/planted" data/sys/log/web/web.stderr.log'],
  ['a pipe as a log', 'mkfifo data/sys/log/web/web.stdout.log'],
  ['a log with a second name', ': > data/web/x && ln data/web/x data/sys/log/web/web.stdout.log'],
  ['a link as its temporary folder', 'ln -s "$BASE/bosh/secret" data/web/tmp'],
  ['a link as a volume', 'ln -s "$BASE/bosh/secret" data/web/shared'],
  ['a link to a file as a volume', 'ln -s "$BASE/bosh/canary" data/web/shared'],
] as const) {
  test(
    `root neither follows nor changes the owner of ${what} that a job's user has put there`,
    options,
    async (t) => {
      const { scene, attack } = await opened(t);
      await attack(script);
      const { code, error } = await scene.bpm('start', 'web');
      assert.equal(code, 1);
      assert.match(error, /^Error: .*a job user may have put it there/m);
      assert.equal(await readFile(scene.path('bosh/canary'), 'utf8'), 'alive');
      for (const [path, mode] of [
        ['bosh/canary', 0o600],
        ['bosh/secret', 0o700],
      ] as const) {
        const stats = await lstat(scene.path(path));
        assert.deepEqual([stats.uid, stats.mode & 0o777], [0, mode]);
      }
      await assert.rejects(lstat(scene.path('bosh/planted')), { code: 'ENOENT' });
    },
  );
}

test(
  'a job user’s pid file has no process of root killed, and its link nothing removed',
  options,
  async (t) => {
    const { scene, attack } = await opened(t);
    const victim = spawn('sleep', ['1000'], { detached: true });
    t.after(() => victim.kill());
    const pid = String(victim.pid);
    // A file that root wrote in a directory of the job still belongs to root after vcap moves it.
    await writeFile(scene.path('data/sys/run/web/root.pid'), `${pid}\n`);
    await attack('mkdir data/sys/run/bpm/web && mv data/sys/run/web/root.pid data/sys/run/bpm/web/web.pid');
    assert.deepEqual(await scene.bpm('stop', 'web'), { code: 0, output: '', error: '' });
    process.kill(Number(pid), 0);
    assert.equal(victim.exitCode ?? victim.signalCode, null);
    await assert.rejects(
      attack('mkdir data/sys/run/bpm/other || : > data/sys/run/bpm/web/web.pid || ls data/sys/run/bpm/web'),
    );

    const other = await opened(t);
    await writeFile(other.scene.path('bosh/web.pid'), '12\n');
    await other.attack('ln -s "$BASE/bosh" data/sys/run/bpm/web');
    assert.equal((await other.scene.bpm('stop', 'web')).code, 0);
    assert.equal(await other.scene.read('bosh/web.pid'), '12\n');
  },
);

test('root runs no program that bpm.yml sets for the process', options, async (t) => {
  const { scene, attack } = await opened(t);
  await attack(`printf 'id -u >> "$BASE/data/web/ran"\n' > data/web/own.sh`);
  assert.equal((await scene.bpm('start', 'web')).code, 0);
  assert.equal((await scene.bpm('stop', 'web')).code, 0);
  const errors = await scene.read('sys/log/web/web.stderr.log');
  const preloaded = errors.split('\n').filter((line) => line.includes('own.so'));
  assert.ok(preloaded.length >= 1, 'the loader of vcap’s programs says so');
  const ran = await readFile(scene.path('data/web/ran'), 'utf8').catch(() => '');
  assert.doesNotMatch(ran, /^0$/m);
});
