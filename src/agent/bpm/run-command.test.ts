import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { lstat, readFile, readdir, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { systemClock } from '../../platform/clock.ts';
import { parseIdentities } from '../user/identities.ts';
import { procProcessTable } from '../process/process-table.ts';
import { BpmScene } from '../testing/bpm-scene.ts';
import { eventually } from '../testing/eventually.ts';
import { hostileUser, hostileUserIsMissing } from '../testing/hostile-user.ts';

const options = { skip: hostileUserIsMissing, timeout: 120_000 };

const server = `processes:
- name: server
  executable: $BASE/jobs/server/bin/serve
  args: [--port, 2424, "a b"]
  env: { COLOUR: it's red, NUMBER: 7 }
  workdir: $BASE/data/server
  hooks: { pre_start: $BASE/jobs/server/bin/prepare }
  capabilities: [NET_BIND_SERVICE]
  limits: { memory: 3G, open_files: 100, processes: 5 }
  ephemeral_disk: true
  additional_volumes:
  - { path: $BASE/data/shared/sockets, writable: true }
  - { path: $BASE/data/none, mount_only: true }
  unknown_key: skipped
- name: deaf
  executable: /bin/sh
  args: [-c, "trap '' INT TERM; sleep 1000 & echo ready; while :; do sleep 1000; done"]
  shutdown_signal: INT
`;
const serve = `#!/bin/sh
printf '%s|' "$@"
env
ulimit -n
grep -e NoNewPrivs -e Groups -e '^Uid' -e '^Gid' /proc/self/status
grep 'Max data size' /proc/self/limits
pwd
echo wrong >&2
echo ready
trap 'exit 0' TERM
sleep 1000 & wait
`;

async function started(t: Parameters<typeof BpmScene.open>[0]): Promise<BpmScene> {
  const scene = await BpmScene.open(t);
  await scene.addJob('server', server, {
    'bin/serve': serve,
    'bin/prepare': '#!/bin/sh\necho prepared as $(id -u) with $COLOUR\n',
  });
  const { code, error } = await scene.bpm('start', 'server');
  assert.equal(code, 0, error);
  assert.equal(
    error,
    'bpm: server/server runs as vcap in the VM itself; not supported on the embedded node: container, capabilities NET_BIND_SERVICE, limits.processes\n',
  );
  await ready(scene, 'server');
  return scene;
}

test('starts a process as vcap with everything that bpm provides, and lists it', options, async (t) => {
  const scene = await started(t);
  const output = await scene.read('sys/log/server/server.stdout.log');
  assert.match(output, /^prepared as 0 with it's red\n--port\|2424\|a b\|HOME=.*\/data\/server\n/);
  for (const line of [
    "COLOUR=it's red",
    'NUMBER=7',
    `TMPDIR=${scene.path('data/server/tmp')}`,
    'LANG=en_US.UTF-8',
    '100',
    'NoNewPrivs:\t1',
    'Groups:\t ',
    `Uid:\t${Array.from({ length: 4 }, () => hostileUser.uid).join('\t')}`,
  ]) {
    assert.ok(output.split('\n').includes(line), `${line}: ${output}`);
  }
  assert.ok(output.endsWith(`${scene.path('data/server')}\nready\n`), output);
  assert.match(output, /Max data size +3221225472 +3221225472/);
  assert.doesNotMatch(output, /^(HOSTNAME|USER|SHELL|OLDPWD)=/m);
  assert.equal(await scene.read('sys/log/server/server.stderr.log'), 'wrong\n');
  for (const path of [
    ...[
      'data/server',
      'data/server/tmp',
      'data/shared/sockets',
      'data/sys/run/server',
      'data/sys/log/server',
    ],
    'data/sys/log/server/server.stdout.log',
  ]) {
    const { uid, gid } = await lstat(scene.path(path));
    assert.deepEqual([uid, gid], [hostileUser.uid, hostileUser.gid], path);
  }
  await assert.rejects(lstat(scene.path('data/none')), { code: 'ENOENT' });

  const pid = (await scene.read('sys/run/bpm/server/server.pid')).trim();
  assert.equal((await scene.bpm('pid', 'server')).output, `${pid}\n`);
  assert.equal(
    (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0')[1],
    scene.path('jobs/server/bin/serve'),
  );
  assert.equal((await scene.bpm('start', 'server', '-p', 'server')).code, 0);
  assert.equal(
    (await scene.read('sys/run/bpm/server/server.pid')).trim(),
    pid,
    'a second start begins nothing',
  );
  assert.equal(
    (await scene.bpm('list')).output,
    ['Name', 'server', 'server.deaf']
      .map(
        (name, row) =>
          `${name.padEnd(12)}${(['Pid', pid, '-'][row] ?? '').padEnd(pid.length + 1)}${['Status', 'running', 'stopped'][row]}\n`,
      )
      .join(''),
  );

  assert.deepEqual(await scene.bpm('stop', 'server'), { code: 0, output: '', error: '' });
  assert.deepEqual(await readdir(scene.path('sys/run/bpm/server')), []);
  assert.deepEqual(await scene.bpm('pid', 'server'), {
    code: 1,
    output: '',
    error: 'Error: process is not running or could not be found\n',
  });
  assert.equal((await scene.bpm('stop', 'server')).code, 0);
});

test(
  'kills a process that ignores its signal, and the rest of its session, and clears a failed one',
  options,
  async (t) => {
    const scene = await started(t);
    assert.equal((await scene.bpm('start', 'server', '-p', 'deaf')).code, 0);
    await ready(scene, 'deaf');
    const deaf = Number(await scene.read('sys/run/bpm/server/deaf.pid'));
    process.kill(deaf, 'SIGQUIT');
    await eventually('its end', async () => (await scene.bpm('list')).output.includes('failed') || undefined);
    assert.notDeepEqual(await inSession(deaf), []);
    assert.equal((await scene.bpm('start', 'server', '-p=deaf')).code, 0);
    assert.deepEqual(await inSession(deaf), [], 'what the one before left in its session is ended');
    await eventually(
      'it',
      async () => (await scene.read('sys/log/server/deaf.stdout.log')) === 'ready\nready\n' || undefined,
    );
    const next = Number(await scene.read('sys/run/bpm/server/deaf.pid'));
    // The 15 seconds are over at the second check.
    let passed = 0;
    scene.clock = {
      now: () => systemClock.now() + passed,
      sleep: async (milliseconds) => {
        passed = 15_000;
        await systemClock.sleep(milliseconds);
      },
    };
    const { code, error } = await scene.bpm('stop', 'server', '--process', 'deaf');
    assert.deepEqual([code, error], [0, 'bpm: server/deaf did not end within 15 seconds of SIGINT\n']);
    assert.deepEqual(await inSession(next), []);
  },
);

test('runs an errand to its end and returns its exit code', options, async (t) => {
  const scene = await BpmScene.open(t);
  await scene.addJob(
    'errand',
    `processes:
- name: errand
  executable: /bin/sh
  args: [-c, "echo out $KEY; echo err >&2; stat -c %a $DIR; sleep 1000 & exit 6"]
- name: killed
  executable: /bin/sh
  args: [-c, "kill -9 $$"]
`,
  );
  const extra = scene.path('data/extra');
  const answer = await scene.bpm(
    'run',
    'errand',
    '-v',
    `${extra}:writable,allow_executions`,
    '-e',
    'KEY=a=b',
    '-e',
    `DIR=${extra}`,
  );
  assert.deepEqual([answer.code, answer.output], [6, 'out a=b\n700\n']);
  assert.match(
    answer.error,
    /^bpm: errand\/errand runs .*\nerr\nError: failed to run job-process: exit status 6\n$/,
  );
  assert.equal(await scene.read('sys/log/errand/errand.stdout.log'), 'out a=b\n700\n');
  assert.deepEqual(await readdir(scene.path('sys/run/bpm/errand')), []);
  assert.equal((await scene.bpm('run', 'errand', '-p', 'killed')).code, 137);
});

test('runs everything as the only user of a VM with a single user id', options, async (t) => {
  const scene = await BpmScene.open(t);
  scene.identities = parseIdentities({
    ...{ passwd: 'vcap:x:1000:1000::/home/vcap:/bin/sh\n', group: 'vcap:x:1000:\n' },
    ...{ userMap: '0 1000 1\n', groupMap: '0 1000 1\n', user: 0, userGroup: 0 },
  });
  await scene.addJob('one', 'processes: [{ name: one, executable: id, args: [-u] }]\n');
  const { code, output, error } = await scene.bpm('run', 'one');
  assert.deepEqual([code, output], [0, '0\n'], error);
  assert.match(error, /runs as root/);
});

test('rejects invalid commands and configurations with a message', options, async (t) => {
  const scene = await BpmScene.open(t);
  await scene.addJob(
    'job',
    `processes: [{ name: job, executable: /no/where }, { name: hook, executable: /bin/true, hooks: { pre_start: /bin/false } }]`,
  );
  await scene.addJob(
    'broken',
    `processes: [{ name: ../x, args: {}, limits: { memory: big }, additional_volumes: [{ path: /etc }, { path: $BASE/data/broken }] }]`,
  );
  const refusals: readonly (readonly [words: string, message: RegExp])[] = [
    ['start', /^Error: must specify a job\n$/],
    ['frobnicate job', /^Error: unknown command "frobnicate" for "bpm"\n$/],
    ['logs job', /does not support 'logs'/],
    ['start job -x', /^Error: Unknown option '-x'/],
    ['start ../job', /cannot be the name of one file or folder/],
    ['start none', /there is no .*jobs\/none\/config\/bpm\.yml/],
    ['start job -p none', /^Error: process "none" not present in job configuration/],
    ['start job', /job\/job: its executable \/no\/where cannot be used/],
    ['start job -p hook', /job\/hook: its pre_start hook \/bin\/false failed: exit status 1/],
    ['run job -v /etc', /'\/etc' is not below/],
    ['run job -v a:b', /invalid volume option: b/],
    ['run job -e secret', /^Error: an environment variable must have the form KEY=value\n$/],
    [
      'start broken',
      /executable: must be provided\n.*name: "\.\.\/x" cannot be.*\n.*args: expected a list.*\n.*memory: must be a number above 0 with a unit, for example 512M or 1G\n.*'\/etc' is not below .*\n.*own directory/,
    ],
  ];
  for (const [args, message] of refusals) {
    const { code, output, error } = await scene.bpm(...args.split(' '));
    assert.deepEqual([code, output], [1, ''], args);
    assert.match(error, message, args);
    assert.doesNotMatch(error, /secret/);
  }
});

const ready = (scene: BpmScene, name: string): Promise<true> =>
  eventually(
    name,
    async () => (await scene.read(`sys/log/server/${name}.stdout.log`)).includes('ready') || undefined,
  );

/** Returns the pids of a session. */
async function inSession(id: number): Promise<readonly number[]> {
  return (await procProcessTable.list()).flatMap(({ pid, sessionId }) => (sessionId === id ? [pid] : []));
}

test(
  'a start removes the temporary pid file of a killed bpm, but not that of another process',
  options,
  async (t) => {
    const scene = await started(t);
    assert.equal((await scene.bpm('stop', 'server')).code, 0);
    const leftover = `server.pid.${randomUUID()}.tmp`;
    const other = `deaf.pid.${randomUUID()}.tmp`;
    for (const name of [leftover, other]) await writeFile(scene.path(`sys/run/bpm/server/${name}`), '1');
    assert.equal((await scene.bpm('start', 'server')).code, 0);
    assert.deepEqual(
      (await readdir(scene.path('sys/run/bpm/server'))).toSorted(),
      [other, 'server.pid'].toSorted(),
    );
  },
);
