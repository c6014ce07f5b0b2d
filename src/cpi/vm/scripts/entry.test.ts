import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { entryScript } from './entry.ts';
import { podNetwork } from './pod-network.ts';

const run = promisify(execFile);
const namespaces = ['--mount', '--net', '--pid', '--fork', '--kill-child', '--propagation', 'private'];
const user = ['--user', '--map-root-user'];
const container = join(import.meta.dirname, '../../../agent/testing/container.sh');

interface Ending {
  readonly code: number;
  readonly output: string;
}

interface Surroundings {
  /** Shell commands that do what the runtime does before the entry. */
  readonly before?: string;
  /** Shell commands that the agent runs in addition. */
  readonly beside?: string;
  /** The entry waits only a moment for processes to end. */
  readonly isHasty?: boolean;
  /** Root is the root of the machine, as in a container without a user namespace. */
  readonly isRoot?: boolean;
}

/**
 * Runs the entry as PID 1 of a container in which disk-1 is attached, with an agent that prints what it finds
 * and ends the container. `disk` is the content of managed_disk_settings.json; `hints` are the disks that the
 * agent knows, with their hints.
 */
async function enter(
  t: TestContext,
  disk: string,
  hints: Readonly<Record<string, object>>,
  { before = '', beside = ':', isHasty = false, isRoot = false }: Surroundings = {},
): Promise<Ending | undefined> {
  const probe = spawnSync('unshare', [...user, ...namespaces, 'mount', '-t', 'tmpfs', 'none', '/mnt']);
  if (probe.status !== 0) {
    t.skip(`needs user, mount, network and pid namespaces: ${probe.stderr.toString()}`);
    return undefined;
  }
  const work = await mkdtemp(join(tmpdir(), 'entry-'));
  t.after(() => rm(work, { recursive: true }));
  for (const folder of ['root', 'volume/store', 'state/bosh/bin', 'state/data/sys/run/j'])
    await mkdir(join(work, folder), { recursive: true });
  const say =
    'echo "agent: $(cat /var/vcap/store/canary 2>&1)"; ls -A /var/vcap/bosh /var/vcap/data/sys/run/j /warden-cpi-dev';
  await writeFile(join(work, 'state/bosh/bin/bosh-agent'), `#!/bin/sh\n${say}\n${beside}\nkill -TERM 1\n`, {
    mode: 0o755,
  });
  await writeFile(join(work, 'state/bosh/managed_disk_settings.json'), disk);
  await writeFile(join(work, 'state/bosh/persistent_disk_hints.json'), JSON.stringify(hints));
  await writeFile(join(work, 'state/data/sys/run/j/j.pid'), '1');
  await writeFile(join(work, 'volume/store/canary'), 'the disk');
  await writeFile(join(work, 'agent.cjs'), '');
  const marked = `${before}\n: > /warden-cpi-dev/.going\n`;
  const entry = entryScript.replace(' + 120))', ' + 1))');
  const hasty = entry.replace('left=75', 'left=2').replaceAll(/(await_end "\$1") \d+/gu, '$1 2');
  await writeFile(join(work, 'entry'), marked + (isHasty ? hasty : entry));
  const words = [...(isRoot ? [] : user), ...namespaces, '/bin/sh', container, work, process.execPath];
  try {
    const { stdout } = await run('unshare', words);
    return { code: 0, output: stdout };
  } catch (error) {
    const { code, stdout } = error as { code: number; stdout: string };
    return { code, output: stdout };
  }
}

test('the noted disk is on the store before the agent starts; no pid file and no marker of a former life is left', async (t) => {
  const ending = await enter(t, 'disk-1', { 'disk-1': {} });
  if (ending === undefined) return;
  assert.match(ending.output, /agent: the disk\n/u);
  assert.match(ending.output, /managed_disk_settings\.json/u);
  assert.doesNotMatch(ending.output, /j\.pid|\.going/u);
  assert.equal(ending.code, 0);
});

/** Returns a hint as upstream writes it, in the order of its Go struct (bosh-agent: settings/settings.go). */
const hintOf = (name: string): object => ({
  ...{ ID: 'x', DeviceID: '', VolumeID: '', Lun: '', HostDeviceID: '' },
  Path: `/warden-cpi-dev/disks/${name}/store`,
  ISCSISettings: { InitiatorName: '', Username: '', Target: '', Password: '' },
  ...{ FileSystemType: '', MountOptions: null, Partitioner: '' },
});

test('a disk that was attached by the cid that an update has replaced is where its hint says', async (t) => {
  const former = 'arn:cluster/east:disk-0';
  const ending = await enter(t, former, { 'disk-2': hintOf('disk-2'), [former]: hintOf('disk-1') });
  if (ending === undefined) return;
  assert.match(ending.output, /agent: the disk\n/u);
  assert.equal(ending.code, 0);
});

test('a hint of another shape, or none, leads nowhere else than the cid does', async (t) => {
  for (const path of ['/warden-cpi-dev/disks/../../etc/store', '/dev/sdb', '']) {
    const ending = await enter(t, 'disk-1', { 'disk-2': hintOf('disk-2'), 'disk-1': { Path: path } });
    if (ending === undefined) return;
    assert.match(ending.output, /agent: the disk\n/u, path);
  }
});

test('a noted disk that does not come ends the container before the agent starts', async (t) => {
  const ending = await enter(t, 'disk-2', { 'disk-1': {}, 'disk-2': hintOf('disk-2') });
  if (ending === undefined) return;
  assert.equal(ending.code, 1);
  assert.match(ending.output, /disk disk-2 did not come/u);
  assert.doesNotMatch(ending.output, /agent:/u);
});

test('the note of a disk that is not attached any more is removed', async (t) => {
  const ending = await enter(t, 'disk-2', { 'disk-1': {} });
  if (ending === undefined) return;
  assert.match(ending.output, /disk disk-2 is not attached any more/u);
  assert.match(ending.output, /agent: .*No such file/u);
  assert.doesNotMatch(ending.output, /managed_disk_settings/u);
});

test('what is no cid is not made a path', async (t) => {
  const ending = await enter(t, '../../etc', { '../../etc': {} });
  if (ending === undefined) return;
  assert.equal(ending.code, 1);
  assert.doesNotMatch(ending.output, /agent:/u);
});

/**
 * Prepares /etc/resolv.conf as a runtime leaves it if it is a link to that path: the pod's file is mounted
 * there.
 */
const linkedTo = (path: string): string => `mkdir -p /tmp/pod ${dirname(path)}
echo 'nameserver 10.96.0.10' > /tmp/pod/resolv.conf
: > ${path}
mount --bind /tmp/pod/resolv.conf ${path}
ln -s ..${path} /etc/resolv.conf`;

/** Prints what the agent found, then renames a new file over it, as resolvconf does. */
const renamed = (path: string): string => `echo "link: $(readlink /etc/resolv.conf)"
echo "found: $(cat /etc/resolv.conf)"
echo anew > ${path}_new
mv ${path}_new ${path} 2>&1 && echo renamed`;

test('resolvconf of a stock jammy renames over what its /etc/resolv.conf was a link to; the lines of the pod are in a file', async (t) => {
  const path = '/run/resolvconf/resolv.conf';
  const resolvconf = { before: linkedTo(path), beside: renamed(path) };
  const ending = await enter(t, 'disk-1', { 'disk-1': {} }, resolvconf);
  if (ending === undefined) return;
  assert.match(ending.output, /^link: \nfound: nameserver 10\.96\.0\.10\nrenamed\n/mu);
});

test("a link to what systemd has stays, and the pod's lines are where it leads", async (t) => {
  const path = '/run/systemd/resolve/stub-resolv.conf';
  const ending = await enter(
    t,
    'disk-1',
    { 'disk-1': {} },
    { before: linkedTo(path), beside: renamed(path) },
  );
  if (ending === undefined) return;
  assert.match(ending.output, /^link: \.\.\/run\/systemd\/.*\nfound: nameserver 10\.96\.0\.10\n/mu);
  assert.doesNotMatch(ending.output, /^renamed/mu);
});

test("the names of the last sync_dns are added to the kubelet's hosts, and nothing else of records.json", async (t) => {
  const infos = { record_keys: ['id', 'group_ids'], record_infos: [['i', ['1', '2']]], aliases: {} };
  const fill = (records: unknown, space?: number): string => `mkdir -p /var/vcap/instance/dns
cat > /var/vcap/instance/dns/records.json <<'RECORDS'
${JSON.stringify({ records, version: 3, ...infos }, null, space)}
RECORDS
printf '127.0.0.1\\tlocalhost\\n10.0.0.7\\tvm-1\\n' > /etc/hosts`;
  const kubelets = '127.0.0.1\tlocalhost\n10.0.0.7\tvm-1\n';
  const pairs = [
    ['10.0.0.8', 'a.web.default.cf.bosh'],
    ['fd00::8', 'b-1.web_2.default.cf.bosh'],
  ];
  const lines = pairs.map(([address, name]) => `${address} ${name}\n`).join('');
  const hostile = ['10.0.0.9', 'a\n1.2.3.4 b;'];
  for (const [before, names] of [
    [fill(pairs), lines],
    [fill([...pairs, hostile], 2), lines],
    [fill([]), ''],
    [fill(null), ''],
  ] as const) {
    const ending = await enter(t, 'disk-1', { 'disk-1': {} }, { before, beside: 'cat /etc/hosts' });
    if (ending === undefined) return;
    assert.ok(ending.output.endsWith(`${kubelets}${names}`), ending.output);
    assert.equal(ending.code, 0);
  }
});

/** The file that configures an upstream monit beside its own monitrc; the test checks who can change it. */
const monitFile = '/var/vcap/monit/bosh-kubernetes.monitrc';

test("monit's state outlives the container, so that stopped jobs stay stopped; a link in the file's place is not followed", async (t) => {
  const told = `cat ${monitFile}; stat -c '%a %u %F' ${monitFile}; cat /tmp/other; ls /var/vcap/monit`;
  const links = `mkdir -p /var/vcap/monit && echo kept > /tmp/other
ln -s /tmp/other ${monitFile}; ln -s /tmp/other ${monitFile}.new`;
  const former = `mkdir -p /var/vcap/monit; echo 'set statefile /tmp/x' > ${monitFile}; chmod 666 ${monitFile}
echo kept > /tmp/other`;
  for (const before of [links, former]) {
    const ending = await enter(t, 'disk-1', { 'disk-1': {} }, { before, beside: told });
    if (ending === undefined) return;
    const lines = 'set statefile /var/vcap/monit/monit.state\n600 0 regular file\nkept\n';
    assert.ok(ending.output.includes(`${lines}bosh-kubernetes.monitrc\n`), ending.output);
    assert.equal(ending.code, 0);
  }
});

/** Mounts the token as a kubelet does: readable for all users, and read-only. */
const mountedToken = `mkdir -p /run/secrets/kubernetes.io/serviceaccount
ln -s /run /var/run
cd /run/secrets/kubernetes.io/serviceaccount && mount -t tmpfs -o mode=1777 none . && cd . && echo secret > token
chmod 644 token && mount -o remount,bind,ro . && cd /`;

test("the folder of the service account's token is closed before the agent starts; else no agent does", async (t) => {
  const told = "stat -c '%a %u:%g' /run/secrets";
  const ending = await enter(t, 'disk-1', { 'disk-1': {} }, { before: mountedToken, beside: told });
  if (ending === undefined) return;
  assert.match(ending.output, /^750 0:0\n/mu);
  assert.equal(ending.code, 0);

  const fixed = 'mount --bind /run/secrets /run/secrets && mount -o remount,bind,ro /run/secrets';
  const open = await enter(t, 'disk-1', { 'disk-1': {} }, { before: `${mountedToken}\n${fixed}` });
  assert.match(open?.output ?? '', /cannot be closed to the VM's users/u);
  assert.doesNotMatch(open?.output ?? '', /agent:/u);
  assert.equal(open?.code, 1);
});

test("what the jobs of the former container made in the pod's network is gone before the agent starts", async (t) => {
  if (spawnSync('ip', ['-V']).error !== undefined) return t.skip("needs Debian's package iproute2");
  const formerLife = `bosh=/var/vcap/bosh\n${podNetwork}keep_network && ip link add left type veth peer name right`;
  const before = `${formerLife}\nip -o link show left`;
  const ending = await enter(t, 'disk-1', { 'disk-1': {} }, { before, beside: 'ip -o link' });
  if (ending === undefined) return;
  const [former, later] = ending.output.split('agent: ');
  assert.match(`${former}`, /: left@right: /u);
  assert.match(`${later}`, /: lo: /u);
  assert.doesNotMatch(`${later}`, /: left/u);
});

/**
 * Starts a process that takes a second to end and prints that it ends, also by a pipe to its logger, with a
 * pidfile that a monit file names.
 */
const jobProcess = (name: string): string => `mkdir -p /var/vcap/jobs/j
echo 'check process ${name} with pidfile "/var/vcap/data/sys/run/${name}.pid"' > /var/vcap/jobs/j/${name}.monit
exec 3>&1
sh -c 'trap "sleep 1; echo ${name} ends; echo ${name} has kept its records >&3; exit" TERM
  echo "$$" > /var/vcap/data/sys/run/${name}.pid; while :; do sleep 0.1; done' | sed 's/^/log: /' &
until [ -s /var/vcap/data/sys/run/${name}.pid ]; do sleep 0.1; done`;

test('jobs are ended before their loggers; one without a monit file, too', async (t) => {
  const beside = `${jobProcess('one')}\n${jobProcess('two')}\nrm /var/vcap/jobs/j/two.monit`;
  const ending = await enter(t, 'disk-1', { 'disk-1': {} }, { beside });
  if (ending === undefined) return;
  for (const name of ['one', 'two']) {
    assert.match(ending.output, new RegExp(`^log: ${name} ends\\n`, 'mu'));
    assert.match(ending.output, new RegExp(`^${name} has kept its records\\n`, 'mu'));
  }
  assert.equal(ending.code, 0);
});

test('a job that does not end, and a pidfile that is a pipe, do not keep the VM up', async (t) => {
  const stubborn = jobProcess('stubborn').replace('sleep 1; echo', ': ').replace('; exit"', '"');
  const pipe = `mkfifo /var/vcap/data/pipe
echo 'check process pipe with pidfile /var/vcap/data/pipe' > /var/vcap/jobs/j/pipe.monit`;
  const surroundings = { beside: `${stubborn}\n${pipe}`, isHasty: true };
  const ending = await enter(t, 'disk-1', { 'disk-1': {} }, surroundings);
  assert.equal(ending === undefined || ending.code, 0);
});

test('/sys can be written in a privileged container, although the sandbox had it read-only before', async (t) => {
  if (process.geteuid?.() !== 0) return t.skip('needs root');
  const sandbox = 'mkdir /sys /tmp/first; mount -t sysfs -o ro sysfs /tmp/first; mount -t sysfs sysfs /sys';
  const writable = 'test -w /sys && echo "/sys: writable"; test -w /tmp/first || echo "the other: read-only"';
  for (const profile of ['privileged', 'sys-admin']) {
    const before = `${sandbox}\n${writable}\nset -- ${profile}`;
    const ending = await enter(t, 'disk-1', { 'disk-1': {} }, { before, beside: writable, isRoot: true });
    if (ending === undefined) return;
    const expected = profile === 'privileged' ? 'the disk\n/sys: writable\n' : 'the disk\n';
    const said = ending.output.split('\n').filter((line) => /writable|read-only|the disk/u.test(line));
    assert.equal(said.join('\n'), `the other: read-only\nagent: ${expected}the other: read-only`);
  }
});
