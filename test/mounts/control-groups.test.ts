import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { entryScript } from '../../src/cpi/vm/scripts/entry.ts';
import { cloudFoundryFindings } from '../../src/doctor/cloud-foundry-findings.ts';
import { parseProbeReport } from '../../src/doctor/probe-report.ts';
import { probeScript } from '../../src/doctor/probe-script.ts';

const hasAmx = /^flags\b.*\bamx_tile\b/mu.test(readFileSync('/proc/cpuinfo', 'utf8'));
const forAmx = hasAmx ? { '/usr/bin/gcc': 'gcc, on a processor with AMX' } : {};

/** Returns the reason to skip a test that needs the guest and these programs, given with their Debian packages. */
function lacking(programs: Readonly<Record<string, string>> = {}): string | false {
  if (process.geteuid?.() !== 0) return 'needs root';
  const guest = { '/usr/bin/linux.uml': 'user-mode-linux', '/usr/sbin/runc': 'runc', ...forAmx };
  const missing = Object.entries({ ...guest, ...programs }).filter(([path]) => !existsSync(path));
  return missing.length > 0 && `needs Debian's packages ${missing.map(([, name]) => name).join(', ')}`;
}

const limit = 32 * 1024 * 1024;

/** A container with a memory limit that prints its cgroup. */
const container = {
  ociVersion: '1.0.2',
  root: { path: '/rootfs' },
  process: {
    user: { uid: 0, gid: 0 },
    cwd: '/',
    args: ['/bin/sh', '-c', 'sed -n s/^0:://p /proc/self/cgroup'],
    env: ['PATH=/usr/sbin:/usr/bin:/sbin:/bin'],
  },
  linux: {
    namespaces: [{ type: 'mount' }],
    resources: { memory: { limit }, pids: { limit: 50 } },
  },
};

/**
 * Starts a container as runc does by itself, as bpm does below its own cgroup, and as Garden does at the
 * root.
 */
const limitsAgent = `#!/bin/sh
own=$(sed -n s/^0:://p /proc/self/cgroup)
echo "agent in $own"
mkdir /rootfs
mount --rbind / /rootfs
for place in '' "$own/bpm-job" /garden/app; do
  sed "s#PLACE#$place#" /var/vcap/config.json > config.json
  echo "container '$place' in $(runc --root /tmp/runc run one 2>&1)"
done
kill -TERM 1
`;

/** Writes the files of a container with our entry program and this agent. */
async function filesOf(directory: string, { agent, entry, mounts, ways, files = {} }: Suite): Promise<void> {
  for (const name of ['root', 'volume/store', 'state/bosh/bin', 'state/data'])
    await mkdir(join(directory, name), { recursive: true });
  await writeFile(join(directory, 'state/bosh/bin/bosh-agent'), agent, { mode: 0o755 });
  const config = { ...container, linux: { ...container.linux, cgroupsPath: 'PLACE' } };
  await writeFile(join(directory, 'state/config.json'), JSON.stringify(config));
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, 'state', name), text);
  await writeFile(join(directory, 'agent.cjs'), '');
  await writeFile(join(directory, 'entry'), entry);
  await writeFile(join(directory, 'mounts'), mounts);
  await writeFile(join(directory, 'ways'), `${ways.join('\n')}\n`);
}

/** Returns the environment that the guest needs on a processor with AMX (uml-xstate.c). */
function preload(directory: string): { readonly LD_PRELOAD?: string } {
  if (!hasAmx) return {};
  const library = join(directory, 'xstate.so');
  const args = ['-shared', '-fPIC', '-O2', '-o', library, join(import.meta.dirname, 'uml-xstate.c')];
  const { status, stderr } = spawnSync('gcc', args, { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  return { LD_PRELOAD: library };
}

interface Suite {
  readonly agent: string;
  readonly entry: string;
  /** Shell commands that mount more in the container. */
  readonly mounts: string;
  /** Options of unshare(1), one string per container. */
  readonly ways: readonly string[];
  /** More files of /var/vcap, by their names. */
  readonly files?: Readonly<Record<string, string>>;
  /** More parameters of the guest's kernel. */
  readonly parameters?: readonly string[];
}

/** Boots the guest. Returns the output of the guest and its containers. */
async function inGuest(t: TestContext, suite: Suite): Promise<string[]> {
  const directory = await mkdtemp(join(tmpdir(), 'control-groups-'));
  t.after(() => rm(directory, { recursive: true }));
  await filesOf(directory, suite);
  const args = [
    ...[
      'mem=384M',
      `uml_dir=${directory}/`,
      'rootfstype=hostfs',
      'rootflags=/',
      'ro',
      'con=null',
      'con0=null,fd:1',
    ],
    `init=${join(import.meta.dirname, 'control-groups.sh')}`,
    ...(suite.parameters ?? []),
    `SUITE_FOLDER=${directory}`,
    `SUITE_CONTAINER=${join(import.meta.dirname, '../../src/agent/testing/container.sh')}`,
  ];
  const env = { ...process.env, TMPDIR: '/dev/shm', ...preload(directory) };
  const guest = promisify(execFile)('linux.uml', args, { env, timeout: 300_000 });
  const { stdout } = await guest.catch(outputOfGuest);
  return stdout.split(/\r?\n/u).flatMap((line) => /^suite: (.*)/u.exec(line)?.slice(1) ?? []);
}

/** Returns the output of a guest that has powered down; User-Mode Linux sometimes aborts after that. */
function outputOfGuest(error: Error & { readonly stdout?: string }): { readonly stdout: string } {
  if (error.stdout?.includes('reboot: Power down') !== true) throw error;
  return { stdout: error.stdout };
}

const mounts =
  'mkdir "$root/sys"\nmount -t sysfs sysfs "$root/sys"\nmount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"\n';

test(
  'with cgroup v2 alone, containers with limits start in a VM, also after a restart',
  { skip: lacking() },
  async (t) => {
    const ways = ['--mount', '--mount', '--mount --cgroup'];
    const messages = await inGuest(t, { agent: limitsAgent, entry: entryScript, mounts, ways });
    const life = [
      'agent in /vm',
      "container '' in /jobs/one",
      "container '/vm/bpm-job' in /jobs/vm/bpm-job",
      "container '/garden/app' in /jobs/garden/app",
    ];
    assert.deepEqual(messages, [
      ...ways.flatMap((way) => [`unshare ${way}`, ...life]),
      'the node has kubepods/',
    ]);
  },
);

/** A stemcell whose systemd runs the agent. */
const systemd = `${mounts}units=$root/etc/systemd/system
mkdir -p "$root/run" "$units/multi-user.target.wants"
printf '[Service]\\nExecStart=/var/vcap/bosh/bin/bosh-agent\\nKillMode=process\\n' > "$units/bosh-agent.service"
ln -s ../bosh-agent.service "$units/multi-user.target.wants/"
ln -s /lib/systemd/system/multi-user.target "$units/default.target"
: > "$root/etc/machine-id"
`;

test(
  "with cgroup v2 alone, a stemcell's systemd has the container's cgroups, and not the node's",
  { skip: lacking({ '/lib/systemd/systemd': 'systemd' }) },
  async (t) => {
    const report = `#!/bin/sh
sed -n 's/^0::/suite: agent in /p' /proc/self/cgroup > /dev/console
ls -d /sys/fs/cgroup/kubepods /sys/fs/cgroup/init.scope 2> /dev/null | sed 's/^/suite: /' > /dev/console
kill -37 1
`;
    const entry = `set -- privileged\n${entryScript}`;
    const messages = await inGuest(t, { agent: report, entry, mounts: systemd, ways: ['--mount'] });
    const own = messages.filter((line) => /^agent|^\/sys|^the node/u.test(line));
    const expected = ['agent in /system.slice/bosh-agent.service', '/sys/fs/cgroup/init.scope'];
    assert.deepEqual(own, [...expected, 'the node has kubepods/']);
  },
);

/**
 * Lets the guest load modules, as a node does, and makes the container's root that of its mount namespace, as
 * runtimes do: a process in a chroot can make no user namespace.
 */
const asOnNode = `${mounts}mkdir -p /run/modules/lib
ln -sfT /usr/lib/uml/modules /run/modules/lib/modules
printf '#!/bin/sh\nexec /sbin/modprobe -d /run/modules "$@"\n' > /run/modprobe
chmod 755 /run/modprobe
echo /run/modprobe > /proc/sys/kernel/modprobe
entry=$(cat "$work/entry")
cd "$root"
pivot_root . tmp
umount -l tmp
exec /bin/sh -c "$entry"
`;

test(
  'with cgroup v2 alone and XFS with quotas, a VM has what the doctor looks for, as far as the guest has it',
  { skip: lacking({ '/sbin/modprobe': 'kmod' }) },
  async (t) => {
    const run = 'sh -c "$(cat /var/vcap/probe)" probe /var/vcap/data/bosh-kubernetes-doctor';
    const agent = `#!/bin/sh\n${run}\nkill -TERM 1\n`;
    const files = { probe: probeScript };
    const suite = { agent, entry: entryScript, mounts: asOnNode, ways: ['--mount'], files };
    const messages = await inGuest(t, { ...suite, parameters: ['security=apparmor'] });
    const findings = cloudFoundryFindings('guest', parseProbeReport(messages.join('\n')));
    assert.deepEqual(
      findings.filter(({ result }) => result !== 'ok').map(({ check }) => check),
      ['transparent_hugepage', 'net.netfilter.nf_conntrack_max'],
      messages.join('\n'),
    );
    assert.match(findings.find(({ check }) => check === 'Cgroup version')?.detail ?? '', /^v2 /u);
    assert.equal(messages.at(-1), 'the node has kubepods/');
  },
);

/** Root of an app is the highest user id of the machine, and the other users have their own ids. */
const appIds = [
  { containerID: 0, hostID: 4294967294, size: 1 },
  { containerID: 1, hostID: 1, size: 4294967293 },
];

/** Returns the configuration of runc for an app, in the form that Garden gives it. */
function appConfig(name: string, cgroupsPath: string): string {
  const flags = ['nosuid', 'noexec', 'nodev'];
  const cgroup = `/sys/fs/cgroup/garden/${name}`;
  return JSON.stringify({
    ociVersion: '1.0.2',
    hostname: name,
    root: { path: `/var/vcap/data/grootfs/store/unprivileged/images/${name}/rootfs` },
    process: { ...container.process, args: ['/bin/sh', '-c', 'trap exit TERM; sleep 3600 & wait'] },
    mounts: [
      { destination: '/proc', type: 'proc', source: 'proc', options: flags },
      { destination: '/sys', type: 'sysfs', source: 'sysfs', options: [...flags, 'ro'] },
      { destination: '/dev', type: 'tmpfs', source: 'tmpfs', options: ['noexec', 'mode=755'] },
      { destination: '/sys/fs/cgroup', type: 'bind', source: cgroup, options: ['bind', 'ro', ...flags] },
    ],
    linux: {
      namespaces: ['mount', 'pid', 'ipc', 'uts', 'network', 'user'].map((type) => ({ type })),
      uidMappings: appIds,
      gidMappings: appIds,
      cgroupsPath,
      resources: { memory: { limit, swap: limit }, pids: { limit: 10 }, unified: { 'cpu.weight': '40' } },
    },
  });
}

const cellPrograms = {
  '/sbin/modprobe': 'kmod',
  '/sbin/mkfs.xfs': 'xfsprogs',
  '/bin/busybox': 'busybox-static',
  '/sbin/ip': 'iproute2',
  '/usr/bin/ctr': 'containerd',
};

test(
  "with cgroup v2 alone, a Diego cell's store and apps keep their limits, also after a restart",
  { skip: lacking(cellPrograms) },
  async (t) => {
    const messages = await inGuest(t, {
      agent: readFileSync(join(import.meta.dirname, 'cell.sh'), 'utf8'),
      entry: `set -- privileged\n${entryScript}`,
      mounts: asOnNode,
      ways: ['--mount', '--mount'],
      files: {
        'one.json': appConfig('one', '/garden/one/init'),
        'two.json': appConfig('two', '/garden/two'),
      },
    });
    const store = ['store with xfs noatime prjquota', 'loop devices: 1'];
    const started = ['one: answers ping', 'two: answers ping'];
    const full = ["one: dd: error writing '/file': No space left on device", 'one: exits with 1'];
    assert.deepEqual(messages, [
      'unshare --mount',
      ...store,
      ...['one: project 2, 0 of 8 MiB', 'two: project 3, 0 of 16 MiB'],
      ...started,
      "one: cat: can't open '/name': No such file or directory",
      ...full,
      ...['one: project 2, 8 of 8 MiB', 'two: project 3, 12 of 16 MiB'],
      ...['one: exits with 137', '/tasks/oom'],
      ...["two: sh: can't fork: Resource temporarily unavailable", 'two: exits with 2'],
      ...['one: 0::/jobs/garden/one/init', `one: ${limit}`],
      `one: in /jobs/garden/one/init, memory ${limit}, weight 40, oom_kill 1, running`,
      `two: in /jobs/garden/two, memory ${limit}, weight 40, oom_kill 0, running`,
      'unshare --mount',
      ...store,
      ...['one: project 2, 4 of 8 MiB', 'two: project 3, 12 of 16 MiB'],
      ...started,
      ...['one: kept', ...full],
      'the node has kubepods/',
    ]);
  },
);
