import assert from 'node:assert/strict';
import {
  link,
  lstat,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  rm,
  symlink,
  writeFile,
  chmod,
  chown,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { extractArchive } from './file/archive.ts';
import { isObject } from '../platform/json.ts';
import type { AgentClient } from './testing/agent-client.ts';
import {
  asHostileUser,
  hostileUser,
  hostileUserIsMissing,
  identitiesWithVcap,
} from './testing/hostile-user.ts';
import { eventually } from './testing/eventually.ts';
import { procProcessTable } from './process/process-table.ts';
import { jobState, specWith } from './testing/specs.ts';
import { TestVm } from './testing/test-vm.ts';

const options = { skip: hostileUserIsMissing, timeout: 60_000 };
const job = {
  './web/bin/pre-start': '#!/bin/bash\necho out; echo err >&2\n',
  './web/bin/drain': '#!/bin/bash\necho 0\n',
};

interface Scene {
  readonly vm: TestVm;
  readonly client: AgentClient;
  /** Runs a script as vcap in the base directory. */
  readonly attack: (script: string) => Promise<number | null>;
  readonly path: (name: string) => string;
}

/**
 * A VM whose directories have the mode of an emptyDir of the kubelet: writable for all users. `before` runs
 * as vcap before the agent's first start.
 */
async function scene(t: TestContext, before?: string): Promise<Scene> {
  const vm = await TestVm.create(identitiesWithVcap);
  t.after(() => vm.remove());
  const { base, data } = vm.directories;
  await mkdir(data);
  for (const path of [base, data]) await chmod(path, 0o777);
  const attack = async (script: string): Promise<number | null> =>
    (await asHostileUser(`cd "$BASE" && ${script}`, { BASE: base })).code;
  if (before !== undefined) assert.equal(await attack(before), 0);
  return { vm, client: await vm.start(), attack, path: (name) => join(base, name) };
}

async function applied(t: TestContext): Promise<Scene> {
  const here = await scene(t);
  await here.client.task('apply', await specWith(here.client, job));
  return here;
}

test('a job user replaces files that root runs or trusts', options, async (t) => {
  const { attack, path } = await applied(t);
  const directories = [
    ...['bosh', 'data', 'instance', 'jobs', 'monit', 'packages', 'sys'],
    ...['blobs', 'compile', 'jobs', 'packages', 'sys', 'tmp', 'tmp/bosh-agent', 'web'].map(
      (name) => `data/${name}`,
    ),
    ...['log', 'log/web', 'run', 'run/web'].map((name) => `data/sys/${name}`),
    ...(await readdir(path('data/jobs/web'))).map((name) => `data/jobs/web/${name}`),
  ];
  const moved: string[] = [];
  for (const name of directories) {
    if ((await attack(`mv ${name} ${name}.aside`)) === 0) moved.push(name);
    if ((await attack(`: > ${name}.new`)) === 0) moved.push(`beside ${name}`);
  }
  assert.deepEqual(moved, []);
  // The job can still write to the directories that it needs.
  for (const name of ['data/web', 'sys/log/web', 'sys/run/web']) {
    assert.equal(await attack(`: > ${name}/own && ls data/jobs/web sys/log packages`), 0, name);
    const { uid, gid, mode } = await lstat(path(name === 'data/web' ? name : `data/${name}`));
    assert.deepEqual([uid, gid, mode & 0o7777], [0, hostileUser.gid, 0o770]);
  }
});

for (const [what, script] of [
  ['a link to a new file of root', 'ln -s "$BASE/bosh/planted" $LOG'],
  ['a link to a file of root', 'ln -s "$BASE/bosh/canary" $LOG'],
  ['a pipe that nobody reads', 'mkfifo $LOG'],
  ['a folder', 'mkdir $LOG'],
] as const) {
  for (const stream of ['stdout', 'stderr']) {
    test(`the ${stream} log of a script is ${what}`, options, async (t) => {
      const { attack, client, path } = await applied(t);
      await writeFile(path('bosh/canary'), 'as it was');
      const log = `sys/log/web/pre-start.${stream}.log`;
      assert.equal(await attack(script.replace('$LOG', log)), 0);
      await assert.rejects(client.task('run_script', 'pre-start', {}), /pre-start scripts failed/);
      assert.equal(await readFile(path('bosh/canary'), 'utf8'), 'as it was');
      await assert.rejects(lstat(path('bosh/planted')), /ENOENT/);
      await rm(path(log), { recursive: true });
      await client.task('run_script', 'pre-start', {});
    });
  }
}

test('the log of a script is a hard link to a file of root', options, async (t) => {
  const { client, path } = await applied(t);
  await writeFile(path('bosh/canary'), 'as it was');
  // A job user can create this link if the kernel does not protect hard links.
  await link(path('bosh/canary'), path('data/sys/log/web/drain.stderr.log'));
  await assert.rejects(client.task('drain', 'shutdown', {}), /drain scripts failed/);
  assert.equal(await readFile(path('bosh/canary'), 'utf8'), 'as it was');
});

test('the directories of a job are links that existed before the agent', options, async (t) => {
  for (const directory of ['data/web', 'data/sys/log/web', 'data/sys/run/web']) {
    const elsewhere = await mkdtemp(join(tmpdir(), 'agent-'));
    t.after(() => rm(elsewhere, { recursive: true }));
    await chmod(elsewhere, 0o700);
    const before = `mkdir -p ${join(directory, '..')} && ln -s ${elsewhere} ${directory}`;
    const { client } = await scene(t, before);
    await assert.rejects(client.task('apply', await specWith(client, job)), /is not a directory but a link/);
    const { gid, mode } = await lstat(elsewhere);
    assert.deepEqual([gid, mode & 0o7777], [0, 0o700]);
    assert.deepEqual(await readdir(elsewhere), []);
  }
});

test('the agent empties only its own directories at its start, and follows no link', options, async (t) => {
  const elsewhere = await mkdtemp(join(tmpdir(), 'agent-'));
  t.after(() => rm(elsewhere, { recursive: true }));
  await writeFile(join(elsewhere, 'kept'), '');
  const { path } = await scene(
    t,
    `mkdir data/compile data/tmp && ln -s ${elsewhere} data/compile/deep && ln -s ${elsewhere} data/tmp/bosh-agent && : > data/tmp/of-a-job`,
  );
  assert.deepEqual(await readdir(elsewhere), ['kept']);
  assert.deepEqual(await readdir(path('data/compile')), []);
  assert.ok((await lstat(path('data/tmp/bosh-agent'))).isDirectory());
  assert.deepEqual((await readdir(path('data/tmp'))).toSorted(), ['bosh-agent', 'of-a-job']);
});

test('a job that owns its directory replaces packages with a link to links of root', options, async (t) => {
  const { attack, client, path } = await applied(t);
  const [version = ''] = await readdir(path('data/jobs/web'));
  const directory = `data/jobs/web/${version}`;
  await mkdir(path('bosh/links'));
  await symlink('canary', path('bosh/links/kept'));
  // Some pre-start scripts make the job's user the owner of the job's directory.
  await chown(path(directory), hostileUser.uid, hostileUser.gid);
  assert.equal(
    await attack(
      `mv ${directory}/packages ${directory}/aside && ln -s "$BASE/bosh/links" ${directory}/packages`,
    ),
    0,
  );
  await assert.rejects(
    client.task('apply', await specWith(client, job)),
    /packages is not a directory but a link/,
  );
  assert.deepEqual(await readdir(path('bosh/links')), ['kept']);
});

test('logs are links, hard links and pipes, and their directories are links', options, async (t) => {
  const { attack, client, path, vm } = await applied(t);
  await writeFile(path('data/sys/log/web/plain.log'), 'a line');
  const settings = join('bosh', 'warden-cpi-agent-env.json');
  await link(path(settings), path('data/sys/log/web/hard.log'));
  const script = `cd sys/log/web && ln -s "$BASE/${settings}" settings.log && ln -s "$BASE/bosh" deep &&
    mkfifo pipe.log && mkdir below && ln -s "$BASE/bosh/settings.json" below/again.log && : > below/$(printf '\\377')`;
  assert.equal(await attack(script), 0);
  const value = await client.task('fetch_logs', 'job', []);
  assert.ok(isObject(value));
  const blob = await client.send('GET', `/blobs/00/${String(value['blobstore_id'])}`);
  const target = path('fetched');
  await mkdir(target);
  await writeFile(`${target}.tgz`, blob.body);
  await extractArchive(`${target}.tgz`, target);
  assert.deepEqual((await readdir(target, { recursive: true })).toSorted(), ['web', 'web/plain.log']);
  assert.equal(await readFile(join(target, 'web/plain.log'), 'utf8'), 'a line');
  assert.ok((await readFile(path(settings), 'utf8')).includes(vm.password));
});

test('an endless log does not fill the disk', options, async (t) => {
  const { attack, client } = await applied(t);
  assert.equal(
    await attack('truncate -s 8000T sys/log/web/huge.log || truncate -s 8T sys/log/web/huge.log'),
    0,
  );
  await assert.rejects(
    client.task('fetch_logs', 'job', []),
    /not enough free space for the logs .* exclude web\/huge\.log/,
  );
  await client.task('fetch_logs', 'job', ['**/*.txt']);
});

test(
  "a job user's pidfile names a process of root that the pre-start of another job began",
  options,
  async (t) => {
    const { attack, client, path } = await scene(t);
    const check = `check process web with pidfile ${path('sys/run/web/web.pid')}
  start program "/bin/true" with timeout 1 second
  group vcap
`;
    const files = {
      './web/monit': check,
      './web/bin/pre-start': '#!/bin/bash\n',
      './other/bin/pre-start': `#!/bin/bash\nsetsid sleep 1000 &\necho $! > ${path('sys/run/other/other.pid')}\n`,
    };
    await client.task('apply', await specWith(client, files));
    await client.task('run_script', 'pre-start', {});
    const pid = Number(await readFile(path('sys/run/other/other.pid')));
    const start = async (): Promise<void> => {
      await client.value('start');
      await eventually('failing', async () => ((await jobState(client)) === 'failing' ? true : undefined));
      await client.task('stop');
      assert.ok(await procProcessTable.find(pid), 'the process was ended');
    };
    assert.equal(await attack(`echo ${pid} > sys/run/web/web.pid`), 0);
    await start();
    await writeFile(path('sys/run/web/root.log'), String(pid));
    assert.equal(await attack('mv -f sys/run/web/root.log sys/run/web/web.pid'), 0);
    await start();
  },
);
