import assert from 'node:assert/strict';
import { closeSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { prepareHost } from '../image/prepare-host.ts';
import { runCommand } from '../command.ts';
import { nodeLayout, type NodeLayout } from '../layout.ts';
import { mountsAtOrBelow, readMountTable } from '../mounts/mount-table.ts';
import { safeRemove } from '../removal/safe-remove.ts';
import { mount, unmount } from '../mounts/mount-command.ts';
import { describeInNamespace, namespaceMode } from '../testing/in-namespace.ts';
import { boundingSet } from './capabilities.ts';
import type { ContainerMount, ContainerPlan, RunningContainer } from './container-runtime.ts';
import { ProcessRuntime } from './process-runtime.ts';

describeInNamespace(import.meta.filename, () => {
  let directory: string;
  let layout: NodeLayout;
  let runtime: ProcessRuntime;
  let userNamespace: number;
  let counter = 0;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-runtime-'));
    layout = nodeLayout(directory);
    await mkdir(layout.kubelet, { recursive: true });
    const runtimeDirectory = join(directory, 'runtime');
    await mkdir(runtimeDirectory);
    await writeFile(join(runtimeDirectory, 'agent.cjs'), '// agent');
    const folders = await prepareHost(layout, runtimeDirectory);
    const all = namespaceMode === 'root';
    runtime = new ProcessRuntime(layout, { folders, setsGroups: all, terminalGroup: all });
    userNamespace = await runtime.createUserNamespace();
  });

  after(async () => {
    closeSync(userNamespace);
    for (;;) {
      const [entry] = mountsAtOrBelow(await readMountTable(), directory);
      if (entry === undefined) {
        break;
      }
      assert.equal((await runCommand('umount', ['--lazy', entry.target])).exitCode, 0);
    }
    await safeRemove(directory);
  });

  const plan = (command: readonly string[], changes: Partial<ContainerPlan> = {}): ContainerPlan => ({
    id: `test-${(counter += 1)}`,
    hostname: 'vm-1',
    command,
    environment: new Map([['PATH', '/usr/sbin:/usr/bin:/sbin:/bin']]),
    workingDirectory: '/',
    mounts: [],
    files: new Map([['/etc/hosts', '127.0.0.1 localhost\n']]),
    security: {
      boundingSet: boundingSet({ privileged: false, ownUserNamespace: true, add: [], drop: [] }),
      noNewPrivileges: false,
      readOnlyRoot: false,
      user: 0,
      group: 0,
    },
    nodePids: false,
    userNamespace,
    ...changes,
  });

  const privileged = {
    boundingSet: undefined,
    noNewPrivileges: false,
    readOnlyRoot: false,
    user: 0,
    group: 0,
  };

  async function start(plan: ContainerPlan): Promise<RunningContainer & { output(): string }> {
    const chunks: Uint8Array[] = [];
    const consume = (chunk: Uint8Array): void => void chunks.push(chunk);
    const container = await runtime.run(plan, { stdout: consume, stderr: consume });
    return Object.assign(container, { output: () => Buffer.concat(chunks).toString() });
  }

  async function result(plan: ContainerPlan): Promise<{ exitCode: number; output: string }> {
    const container = await start(plan);
    const { exitCode } = await container.exited;
    return { exitCode, output: container.output() };
  }

  const shell = (script: string, changes: Partial<ContainerPlan> = {}): ReturnType<typeof result> =>
    result(plan(['/bin/sh', '-c', script], changes));

  test('runs a command with its environment, arguments and exit code', async () => {
    const environment = new Map([
      ['PATH', '/usr/bin:/bin'],
      ['WEIRD', 'a\nb\\n "\' $(id)'],
    ]);
    const { exitCode, output } = await result(
      plan(['/bin/sh', '-c', 'printf "%s|%s|%s" "$WEIRD" "$1" "$(hostname)"; exit 7', 'sh', 'x\n\ty\\'], {
        environment,
      }),
    );
    assert.equal(output, 'a\nb\\n "\' $(id)|x\n\ty\\|vm-1');
    assert.equal(exitCode, 7);
  });

  test('gives it the environment it asked for and nothing else', async () => {
    const { output } = await result(
      plan(['env'], {
        environment: new Map([
          ['PATH', '/usr/bin'],
          ['A', '1'],
        ]),
      }),
    );
    assert.deepEqual(output.trim().split('\n').toSorted(), ['A=1', 'PATH=/usr/bin']);
  });

  test('starts in less than the time a person notices', async (t) => {
    const times: number[] = [];
    for (let run = 0; run < 5; run += 1) {
      const begin = performance.now();
      const container = await start(plan(['sleep', '60']));
      times.push(performance.now() - begin);
      await container.kill();
    }
    t.diagnostic(`start: ${times.map((time) => time.toFixed(0)).join(', ')} ms`);
  });

  test('has a root of its own: nothing of the machine but read-only folders', async () => {
    await writeFile(join(directory, 'canary'), 'alive');
    const { output } = await shell(
      `ls -A /; ls ${directory} 2>&1; cat /opt/bosh-kubernetes/agent.cjs; touch /opt/bosh-kubernetes/x 2>&1; touch /usr/x 2>&1; touch /root/mine && echo written`,
    );
    assert.match(output, /No such file or directory/);
    assert.match(output, /\/\/ agent/);
    assert.match(output, /touch: cannot touch '\/opt\/bosh-kubernetes\/x': Read-only/);
    assert.match(output, /touch: cannot touch '\/usr\/x': Read-only/);
    assert.match(output, /written/);
    assert.doesNotMatch(output, /^\.[0-9a-f]{32}$/m);
  });

  test('is the first process of its pid namespace, reaps orphans and hands TERM on', async () => {
    const container = await start(
      plan([
        '/bin/sh',
        '-c',
        '(sh -c "sleep 0.05" &) ; trap "echo got TERM; exit 3" TERM; echo up; while :; do sleep 0.05; done',
      ]),
    );
    await until(() => container.output().includes('up'));
    await until(async () => !(await processNames(container.pid)).includes('Z'));
    container.signal('SIGTERM');
    assert.deepEqual(await container.exited, { exitCode: 3, signal: undefined });
    assert.match(container.output(), /got TERM/);
  });

  test('kill ends every process, also those that moved to a session of their own', async () => {
    const container = await start(
      plan(['/bin/sh', '-c', 'setsid sleep 1000 & setsid setsid sleep 1000 & echo up; wait']),
    );
    await until(() => container.output().includes('up'));
    const namespace = await readNamespace(container.pid);
    await container.kill();
    assert.equal((await container.exited).exitCode, 137);
    assert.deepEqual(await pidsIn(namespace), []);
  });

  test('under privileged, takes no right over the machine', async () => {
    const { output } = await shell(
      [
        'exec 2>&1',
        'mount -o remount,bind,rw /usr && echo BAD remount usr',
        'mount -o remount,rw /usr && echo BAD remount usr superblock',
        'umount /proc/sys && echo BAD umount proc sys',
        'mount -o remount,bind,rw /proc/sys && echo BAD remount proc sys',
        'mkdir /tmp/p; mount -t proc p /tmp/p && echo BAD new proc',
        'unshare --pid --fork --mount mount -t proc p /tmp/p && echo BAD nested proc',
        'unshare --user --map-root-user --pid --fork --mount mount -t proc p /tmp/p && echo BAD nested user proc',
        'echo 61 > /proc/sys/vm/swappiness && echo BAD sysctl',
        'sysctl -w kernel.panic=9 && echo BAD sysctl program',
        'mknod /tmp/disk b 254 0 && echo BAD mknod',
        'mknod /dev/disk b 8 0 && echo BAD mknod dev',
        'head -c1 /tmp/disk && echo BAD open',
        'unshare --cgroup true && echo BAD cgroup namespace',
        'mount -t cgroup2 c /tmp/p && echo BAD cgroup2',
        'mount -t sysfs s /tmp/p && echo BAD sysfs',
        'mount -o remount,rw /sys && echo BAD sys',
        'ls /sys/fs/cgroup | grep . && echo BAD cgroups',
        'mount --bind /tmp /mnt && echo mounts work',
        'mount -t tmpfs t /mnt && echo tmpfs works',
        'hostname other && hostname',
        'exit 0',
      ].join('\n'),
      { security: privileged },
    );
    assert.doesNotMatch(output, /BAD/, output);
    assert.match(output, /mounts work/);
    assert.match(output, /tmpfs works/);
    assert.match(output, /^other$/m);
  });

  test('has exactly the default capabilities when it asks for nothing, all in its namespace when privileged', async () => {
    const mask = async (changes: Partial<ContainerPlan>): Promise<string> =>
      (await shell('grep CapEff /proc/self/status', changes)).output.split('\t')[1]?.trim() ?? '';
    assert.equal(await mask({}), '00000000a80425fb');
    assert.equal(
      BigInt(`0x${await mask({ security: privileged })}`)
        .toString(2)
        .includes('0'),
      false,
    );
  });

  test('mounts volumes with the access and the propagation that were asked for', async () => {
    const volume = join(layout.kubelet, 'volume');
    await mkdir(join(volume, 'sub'), { recursive: true });
    await writeFile(join(volume, 'file'), 'content');
    const entry = (target: string, changes: Partial<ContainerMount>): ContainerMount => ({
      ...{ source: volume, target, kind: 'directory', readOnly: false, propagation: 'None' },
      ...changes,
    });
    const { output } = await shell(
      'echo x > /var/vcap/data/written; echo y > /read-only/y; cat /var/vcap/data/inner/settings.json; cat /read-only/file',
      {
        mounts: [
          entry('/var/vcap/data', {}),
          entry('/read-only', { readOnly: true }),
          entry('/var/vcap/data/inner/settings.json', {
            source: join(volume, 'file'),
            kind: 'file',
            readOnly: true,
          }),
        ],
      },
    );
    assert.match(output, /cannot create \/read-only\/y: Read-only/);
    assert.equal(output.match(/content/g)?.length, 2);
    assert.equal(await readFile(join(volume, 'written'), 'utf8'), 'x\n');
  });

  test('a mount made by a Bidirectional container reaches a HostToContainer one, the next one, and no other', async () => {
    await mount('--bind', layout.kubelet, layout.kubelet);
    await mount('--make-private', layout.kubelet);
    await mount('--make-shared', layout.kubelet);
    const hub = join(layout.kubelet, 'hub');
    const disk = join(directory, 'volumes', 'disk');
    await mkdir(hub, { recursive: true });
    await mkdir(join(disk, 'store'), { recursive: true });
    await mount('-t', 'tmpfs', 'hub', hub);
    await mkdir(join(hub, 'disks'));
    const receiving = plan(
      [
        '/bin/sh',
        '-c',
        'until [ -d /hub/disks/d/store ]; do sleep 0.02; done; echo seen; mkdir -p /store; mount --bind /hub/disks/d/store /store && echo canary > /store/canary; echo stored; while [ -d /hub/disks/d/store ]; do sleep 0.02; done; echo gone; cat /store/canary; sleep 1000',
      ],
      {
        mounts: [
          { source: hub, target: '/hub', kind: 'directory', readOnly: false, propagation: 'HostToContainer' },
        ],
        security: privileged,
      },
    );
    const vm = await start(receiving);
    const closed = await start(
      plan(['sleep', '1000'], {
        mounts: [{ source: hub, target: '/hub', kind: 'directory', readOnly: false, propagation: 'None' }],
      }),
    );
    const attach = await start(
      plan(['/bin/sh', '-c', 'mkdir /hub/d && mount --bind /volume /hub/d && echo bound; sleep 1000'], {
        mounts: [
          {
            source: join(hub, 'disks'),
            target: '/hub',
            kind: 'directory',
            readOnly: false,
            propagation: 'Bidirectional',
          },
          { source: disk, target: '/volume', kind: 'directory', readOnly: false, propagation: 'None' },
        ],
        security: {
          ...privileged,
          boundingSet: boundingSet({ privileged: true, ownUserNamespace: false, add: [], drop: [] }),
        },
        nodePids: true,
        userNamespace: undefined,
      }),
    );
    await until(
      () => vm.output().includes('stored'),
      () => vm.output() + attach.output(),
    );
    assert.equal(await readFile(join(disk, 'store', 'canary'), 'utf8'), 'canary\n');
    const look = await closed.exec(
      {
        command: ['sh', '-c', 'test -d /hub/disks/d && ! test -e /hub/disks/d/store'],
        environment: new Map([['PATH', '/usr/bin:/bin']]),
      },
      { stdin: false },
    );
    assert.equal((await look.exited).exitCode, 0, 'a mount reached a container that asked for none');
    await closed.kill();
    await vm.kill();
    const again = await start({ ...receiving, id: `${receiving.id}-again` });
    await until(
      () => again.output().includes('stored'),
      () => again.output(),
    );
    const release = await attach.exec(
      { command: ['umount', '/hub/d'], environment: new Map([['PATH', '/usr/bin:/bin']]) },
      { stdin: false },
    );
    assert.equal((await release.exited).exitCode, 0);
    await until(
      () => again.output().includes('gone'),
      () => again.output(),
    );
    await attach.kill();
    await again.kill();
    await unmount(hub);
    assert.deepEqual(await readdir(join(disk, 'store')), ['canary']);
  });

  test('exec runs in the container with its capabilities, input and exit code', async () => {
    const container = await start(plan(['sleep', '1000'], { workingDirectory: '/root' }));
    const process = await container.exec(
      {
        command: [
          '/bin/sh',
          '-c',
          'pwd; cat; cat /etc/hosts; grep CapEff /proc/self/status; echo e > /dev/stderr; exit 5',
        ],
        environment: new Map([['PATH', '/usr/bin:/bin']]),
      },
      { stdin: true },
    );
    process.stdin?.end('input\n');
    const [stdout, stderr] = await Promise.all([text(process.stdout), text(process.stderr)]);
    assert.match(stdout, /^\/root\ninput\n127\.0\.0\.1 localhost\nCapEff:\s00000000a80425fb\n$/);
    assert.equal(stderr, 'e\n');
    assert.deepEqual(await process.exited, { exitCode: 5, signal: undefined });
    await container.kill();
  });

  test('an exec is over with its container', async () => {
    const container = await start(plan(['sleep', '1000']));
    const process = await container.exec(
      { command: ['sleep', '1000'], environment: new Map([['PATH', '/usr/bin:/bin']]) },
      { stdin: false },
    );
    await container.kill();
    assert.equal((await process.exited).exitCode, 137);
  });

  test('a program that is not there is exit code 127 and says so', async () => {
    const { exitCode, output } = await result(plan(['no-such-program']));
    assert.equal(exitCode, 127);
    assert.match(output, /no-such-program/);
  });

  test('a mount that cannot be made is an error, and nothing is left running', async () => {
    const mounts: ContainerMount[] = [
      {
        source: join(layout.kubelet, 'absent'),
        target: '/data',
        kind: 'directory',
        readOnly: false,
        propagation: 'None',
      },
    ];
    await assert.rejects(start(plan(['true'], { mounts })), /absent/);
    assert.deepEqual(await readdir(layout.plans), ['host.fstab']);
  });

  test('a symlink in a volume does not lead a mount out of it', async () => {
    const volume = join(layout.kubelet, 'trap');
    await mkdir(volume, { recursive: true });
    const { symlink } = await import('node:fs/promises');
    await symlink(directory, join(volume, 'link'));
    const inner = join(layout.kubelet, 'inner');
    await mkdir(inner, { recursive: true });
    await assert.rejects(
      start(
        plan(['true'], {
          mounts: [
            { source: volume, target: '/data', kind: 'directory', readOnly: false, propagation: 'None' },
            {
              source: inner,
              target: '/data/link/made',
              kind: 'directory',
              readOnly: false,
              propagation: 'None',
            },
          ],
        }),
      ),
    );
    assert.equal((await readdir(directory)).includes('made'), false);
  });
});

async function text(stream: AsyncIterable<unknown>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) {
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString();
}

async function until(
  condition: () => boolean | Promise<boolean>,
  describe = (): string => '',
): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (!(await condition())) {
    assert.ok(Date.now() < deadline, `waited 10 s for ${condition.toString()} ${describe()}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

async function readNamespace(pid: number): Promise<string> {
  const { readlink } = await import('node:fs/promises');
  return readlink(`/proc/${pid}/ns/pid`);
}

async function pidsIn(namespace: string): Promise<string[]> {
  const found: string[] = [];
  for (const name of await readdir('/proc')) {
    if (/^\d+$/.test(name) && (await readNamespace(Number(name)).catch(() => '')) === namespace) {
      found.push(name);
    }
  }
  return found;
}

/** States of the processes that share the pid namespace of that one. */
async function processNames(pid: number): Promise<string> {
  const pids = await pidsIn(await readNamespace(pid));
  const states = await Promise.all(
    pids.map(
      async (each) =>
        (await readFile(`/proc/${each}/stat`, 'utf8').catch(() => '')).split(') ')[1]?.[0] ?? '',
    ),
  );
  return states.join('');
}
