import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, rmdir, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { until } from '../../test/support/until.ts';
import { builtCluster, daemonStatus } from './cluster-state.ts';
import { isProductError } from '../../src/errors/product-error.ts';
import { loadAccess } from '../../src/kubernetes/access/kubeconfig-access.ts';
import { openApi } from '../../src/kubernetes/client/rest-api.ts';
import type { Pod } from '../../src/kubernetes/types/pod.ts';
import { pods } from '../../src/kubernetes/resources.ts';
import { hostRootImage } from '../node/node-object.ts';
import { parseMountInfo } from '../../src/platform/mountinfo.ts';
import { checkRequirements } from './check-requirements.ts';
import { isAlive, type ProcessRecord } from './process-record.ts';
import { removeClusterDirectory } from './remove-cluster-directory.ts';
import { startDaemon, type DaemonInfo, type DaemonOptions } from './start-daemon.ts';
import { stopDaemon } from './stop-daemon.ts';
import { describeAsUsers } from './testing/as-users.ts';

interface Cluster {
  readonly options: DaemonOptions;
  readonly directory: string;
  /** A string in the arguments of every process of the cluster's pods, and of no other process. */
  readonly word: string;
}

const podOf = (name: string, script: string, changes: Partial<Pod['spec']> = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace: 'bosh', name },
  spec: {
    terminationGracePeriodSeconds: 2,
    containers: [
      {
        name: 'main',
        image: hostRootImage,
        command: ['/bin/sh', '-c', script],
        volumeMounts: [{ name: 'state', mountPath: '/state' }],
      },
    ],
    volumes: [{ name: 'state', emptyDir: {} }],
    ...changes,
  },
});

async function makeCluster(t: TestContext): Promise<Cluster> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'bosh-kubernetes daemon ')));
  const runtimeDirectory = join(directory, 'runtime');
  await mkdir(runtimeDirectory);
  t.after(async () => {
    await stopDaemon(directory, { grace: 2_000 });
    await removeClusterDirectory(directory);
    assert.equal(existsSync(directory), false);
  });
  const main = builtCluster(join(import.meta.dirname, '..', '..'));
  const options = { directory, runtimeDirectory, nodeBinary: process.execPath, main };
  return { options, directory, word: `word-${randomUUID()}` };
}

async function createPod(cluster: Cluster, pod: Pod): Promise<void> {
  const api = await openApi(await loadAccess(await readFile(join(cluster.directory, 'kubeconfig'), 'utf8')));
  await api.create(pods, pod);
  api.close();
}

const writing = (word: string): string =>
  `trap exit TERM; echo start >> /state/starts; sh -c 'while :; do echo line >> /state/lines; sleep 0.2; done' ${word} & wait`;

async function processesWith(word: string): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => {
      const [command, stat] = await Promise.all(
        ['cmdline', 'stat'].map((file) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '')),
      );
      return command?.includes(word) === true && !/\) [ZX] /.test(stat ?? '') ? [pid] : [];
    }),
  );
  return found.flat();
}

async function starts(cluster: Cluster): Promise<number> {
  const podsDirectory = join(cluster.directory, 'kubelet', 'pods');
  const [uid] = await readdir(podsDirectory).catch(() => []);
  const file = join(podsDirectory, uid ?? '', 'volumes/kubernetes.io~empty-dir/state/starts');
  return (await readFile(file, 'utf8').catch(() => '')).split('\n').length - 1;
}

const started = (cluster: Cluster, times: number): Promise<true> =>
  until(`start ${times} of the pod`, async () => (await starts(cluster)) === times);

/** Returns the pids of the parent and the child of the cluster's first process, as the machine sees them. */
async function relatives(record: ProcessRecord): Promise<{ parent: number; child: number }> {
  const fields = async (pid: string): Promise<string[]> => {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
    return stat.slice(stat.lastIndexOf(') ') + 2).split(' ');
  };
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const parents = await Promise.all(
    pids.map(async (pid) => [Number(pid), Number((await fields(pid))[1])] as const),
  );
  const child = parents.find(([, parent]) => parent === record.pid)?.[0] ?? 0;
  return { parent: Number((await fields(String(record.pid)))[1]), child };
}

describeAsUsers(import.meta.filename, () => {
  test('a cluster starts once for concurrent requests, and stops with only its data left', async (t) => {
    const cluster = await makeCluster(t);
    const outside = join(cluster.directory, 'canary');
    await writeFile(outside, 'alive');
    const infos = await Promise.all([startDaemon(cluster.options), startDaemon(cluster.options)]);
    assert.equal(infos[0].process.pid, infos[1].process.pid);
    assert.equal((await startDaemon(cluster.options)).started, false);
    assert.equal((await daemonStatus(cluster.directory)).state, 'running');
    await createPod(cluster, podOf('vm', writing(cluster.word)));
    await started(cluster, 1);
    const table = parseMountInfo(await readFile('/proc/self/mountinfo', 'utf8'));
    assert.deepEqual(
      table.filter((entry) => entry.target.startsWith(cluster.directory)),
      [],
    );

    assert.deepEqual(await stopDaemon(cluster.directory), { stopped: true });
    assert.deepEqual(await processesWith(cluster.word), []);
    assert.equal((await daemonStatus(cluster.directory)).state, 'stopped');
    assert.deepEqual(await stopDaemon(cluster.directory), { stopped: false });

    await startDaemon(cluster.options);
    await started(cluster, 2);
    assert.equal(await readFile(outside, 'utf8'), 'alive');
  });

  test('a start waits for another one that holds the lock, and starts the cluster if that one fails', async (t) => {
    const { options, directory } = await makeCluster(t);
    const script = 'exec 9>>"$1/lock"; flock 9; echo locked; read -r _';
    const lockProcess = spawn('sh', ['-c', script, 'sh', directory], { stdio: ['pipe', 'pipe', 'inherit'] });
    t.after(() => lockProcess.kill());
    await once(lockProcess.stdout, 'data');
    const starting = startDaemon(options);
    const log = join(directory, 'logs', 'cluster.log');
    const turnedAway = async (): Promise<boolean> =>
      (await readFile(log, 'utf8').catch(() => '')).includes('another process runs the cluster');
    await Promise.race([starting, until('a word of the second in the log', turnedAway)]);
    lockProcess.stdin.end();
    assert.equal((await starting).started, true);
    assert.equal((await daemonStatus(directory)).state, 'running');
  });

  const victims: [string, (info: DaemonInfo) => Promise<number>, boolean][] = [
    ['the node', async ({ process }) => (await relatives(process)).child, false],
    ['the first process', async ({ process }) => process.pid, false],
    ['the process that made the namespaces', async ({ process }) => (await relatives(process)).parent, true],
  ];
  for (const [name, find, indirect] of victims) {
    test(`kill -9 of ${name} ends every process of every pod, and the next start runs them again`, async (t) => {
      const cluster = await makeCluster(t);
      const info = await startDaemon(cluster.options);
      await createPod(cluster, podOf('vm', writing(cluster.word)));
      await until('its processes', async () => (await processesWith(cluster.word)).length > 0);
      process.kill(await find(info), 'SIGKILL');
      if (indirect) {
        // The kernel kills the first process after its parent's death; until then the cluster responds as
        // before.
        await until('its end', async () => !(await isAlive(info.process)));
      }
      const next = await startDaemon(cluster.options);
      assert.notEqual(next.process.pid, info.process.pid);
      assert.equal(await isAlive(info.process), false);
      await started(cluster, 2);
      const pids = await processesWith(cluster.word);
      await until('its processes', async () => (await processesWith(cluster.word)).length >= 1);
      await stopDaemon(cluster.directory);
      assert.deepEqual(await processesWith(cluster.word), [], pids.join());
    });
  }

  test('a pod that shares mounts with the node gets no permission over the machine', async (t) => {
    const cluster = await makeCluster(t);
    const shared = join(cluster.directory, 'kubelet', 'shared');
    await mkdir(shared, { recursive: true });
    const outside = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-outside-'));
    t.after(() => rm(outside, { recursive: true }));
    await writeFile(join(outside, 'canary'), 'alive');
    const attack = [
      'exec > /hub/running 2>&1',
      'mount -o remount,bind,rw /usr && echo BAD remount usr',
      'touch /usr/bosh-kubernetes-was-here && echo BAD touch usr',
      'umount /proc/sys && echo BAD umount proc sys',
      'mount -o remount,bind,rw /proc/sys && echo BAD remount proc sys',
      'mkdir /tmp/p; mount -t proc p /tmp/p && echo BAD new proc',
      'unshare --pid --fork --mount mount -t proc p /tmp/p && echo BAD nested proc',
      'cat /proc/sys/vm/swappiness > /proc/sys/vm/swappiness && echo BAD sysctl',
      'mknod /tmp/disk b 254 0 && echo BAD mknod',
      'head -c1 /tmp/disk && echo BAD open',
      'mount -t devtmpfs d /tmp/p && ls /tmp/p && echo BAD devtmpfs',
      'mount -t cgroup2 c /tmp/p && echo BAD cgroup2',
      'mount -o remount,rw /sys && echo BAD sys',
      'ls /proc/1/root/ && echo BAD root of the first process',
      `cat /proc/*/root${outside}/canary && echo BAD canary`,
      'ls /proc/*/root/etc/hostname.d /proc/*/root/boot /proc/*/root/root/.ssh && echo BAD files',
      'ls -l /proc/*/root/dev/ | grep "^b" && echo BAD block devices',
      'nsenter --target 2 --mount true; for pid in /proc/[0-9]*; do nsenter --target ${pid#/proc/} --mount ls /boot; done | grep . && echo BAD boot',
      'nsenter --target 1 --mount true && echo BAD nsenter',
      'cat /proc/*/mountinfo > /tmp/mounts; grep -q " /hub " /tmp/mounts && echo sees mounts',
      'mkdir -p /hub/d && mount --bind /tmp /hub/d && umount /hub/d && echo mounts work',
      'mv /hub/running /hub/result; exec sleep 1000',
    ];
    const pod = podOf('attach', '', {
      ...{ hostPID: true, hostNetwork: true },
      containers: [
        {
          name: 'main',
          image: hostRootImage,
          command: ['/bin/sh', '-c', attack.join('\n')],
          securityContext: { privileged: true },
          volumeMounts: [{ name: 'hub', mountPath: '/hub', mountPropagation: 'Bidirectional' }],
        },
      ],
      volumes: [{ name: 'hub', hostPath: { path: shared, type: 'Directory' } }],
    });
    await startDaemon(cluster.options);
    await createPod(cluster, pod);
    await until('its result', async () => existsSync(join(shared, 'result')));
    const result = await readFile(join(shared, 'result'), 'utf8');
    assert.doesNotMatch(result, /BAD/, result);
    assert.match(result, /sees mounts/);
    assert.match(result, /mounts work/);
    assert.equal(existsSync('/usr/bosh-kubernetes-was-here'), false);
  });

  test('a pod that ignores SIGTERM does not keep the cluster from stopping', async (t) => {
    const cluster = await makeCluster(t);
    const deaf = `sh -c 'trap "" TERM; while :; do sleep 0.2; done' ${cluster.word}`;
    await startDaemon(cluster.options);
    await createPod(cluster, podOf('deaf', `trap "" TERM; echo s >> /state/starts; ${deaf}`));
    await started(cluster, 1);
    await stopDaemon(cluster.directory, { grace: 5_000 });
    assert.deepEqual(await processesWith(cluster.word), []);
  });

  test('the error for a cluster that exits has its output', async (t) => {
    const cluster = await makeCluster(t);
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    t.after(() => other.close());
    await writeFile(join(cluster.directory, 'port'), String((other.address() as AddressInfo).port));
    await assert.rejects(startDaemon(cluster.options), (error) => {
      assert.ok(isProductError(error, 'CLUSTER_START'));
      assert.match(error.message, /port \d+ of 127\.0\.0\.1.* in use/);
      return true;
    });
    assert.equal((await daemonStatus(cluster.directory)).state, 'stopped');
  });

  test('the requirements are checked by attempts', async () => {
    const scratch = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-place-'));
    const mode = await checkRequirements(scratch);
    assert.equal(mode.name === 'root', process.getuid?.() === 0);
    // The check tried in this directory and left nothing behind: rmdir removes only empty directories.
    await rmdir(scratch);
  });
});
