import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, realpath, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { until } from '../../test/support/until.ts';
import { loadAccess } from '../../src/kubernetes/access/kubeconfig-access.ts';
import { openApi, type RestApi } from '../../src/kubernetes/client/rest-api.ts';
import type { Pod } from '../../src/kubernetes/types/pod.ts';
import { persistentVolumeClaims, pods } from '../../src/kubernetes/resources.ts';
import { hostRootImage } from '../node/node-object.ts';
import { apiKubeletRoot } from '../node/node-paths.ts';
import { builtCluster } from './cluster-state.ts';
import { removeClusterDirectory } from './remove-cluster-directory.ts';
import { startDaemon } from './start-daemon.ts';
import { stopDaemon } from './stop-daemon.ts';
import { describeAsUsers } from './testing/as-users.ts';

const namespace = 'bosh';
const claim = {
  ...{ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { namespace, name: 'disk' } },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Mi' } } },
};

/** A directory with a cluster in it. It can be moved between two locations. */
class MovableCluster {
  readonly #directories: readonly [string, string];

  constructor(directory: string) {
    this.#directories = [join(directory, 'one'), join(directory, 'two')];
  }

  static async make(t: TestContext): Promise<MovableCluster> {
    const directory = await realpath(await mkdtemp(join(tmpdir(), 'bosh-kubernetes-moved-')));
    const made = new MovableCluster(directory);
    await mkdir(join(directory, 'one'));
    t.after(async () => {
      for (const path of made.#directories) {
        await stopDaemon(join(path, 'cluster'), { grace: 2_000 });
        await removeClusterDirectory(join(path, 'cluster'));
      }
      await rm(directory, { recursive: true });
    });
    return made;
  }

  /** Starts the cluster at the first location, or moves it to the second one and starts it there. */
  async start(t: TestContext, index: 0 | 1): Promise<RestApi> {
    if (index === 1) await rename(...this.#directories);
    const runtimeDirectory = join(this.#directories[index], 'runtime');
    await mkdir(runtimeDirectory, { recursive: true });
    const main = builtCluster(join(import.meta.dirname, '..', '..'));
    const directory = join(this.#directories[index], 'cluster');
    const info = await startDaemon({ directory, runtimeDirectory, nodeBinary: process.execPath, main });
    const api = await openApi(await loadAccess(await readFile(info.kubeconfig, 'utf8')));
    t.after(() => api.close());
    return api;
  }

  async stop(): Promise<void> {
    await stopDaemon(join(this.#directories[0], 'cluster'));
  }

  /** Reads a file of the only claim's volume; empty if it is not written yet. */
  async readVolume(index: 0 | 1, file: string): Promise<string> {
    const volumes = join(this.#directories[index], 'cluster', 'volumes');
    const [name = ''] = (await readdir(volumes)).filter((each) => each.startsWith('pvc-'));
    return readFile(join(volumes, name, file), 'utf8').catch(() => '');
  }
}

type Volumes = NonNullable<Pod['spec']['volumes']>;

const podOf = (name: string, script: string, volumes: Volumes): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace, name },
  spec: {
    terminationGracePeriodSeconds: 1,
    containers: [
      {
        name: 'main',
        image: hostRootImage,
        command: ['/bin/sh', '-c', `${script}; trap exit TERM; sleep 1000 & wait`],
        volumeMounts: volumes.map((volume) => ({ name: volume.name, mountPath: `/${volume.name}` })),
      },
    ],
    volumes: [...volumes],
  },
});

async function running(api: RestApi, name: string, restarts: number): Promise<Pod> {
  let pod: Pod | undefined;
  return until(
    () => `pod ${name} to run: ${JSON.stringify(pod?.status)}`,
    async () => {
      pod = await api.get<Pod>({ resource: pods, namespace, name });
      const [container] = pod.status?.containerStatuses ?? [];
      return container?.state?.running !== undefined && container.restartCount === restarts && pod;
    },
  );
}

describeAsUsers(import.meta.filename, () => {
  test('a moved cluster runs the same pods on the same volume, also for pods that read its path', async (t) => {
    const cluster = await MovableCluster.make(t);
    const api = await cluster.start(t, 0);
    await api.create(persistentVolumeClaims, claim);
    const own = [{ name: 'own', emptyDir: {} }];
    const vm = await api.create(pods, podOf('vm', '[ -s /own/name ] || echo vm >/own/name', own));
    await running(api, 'vm', 0);
    const path = `${apiKubeletRoot}/pods/${vm.metadata.uid}/volumes/kubernetes.io~empty-dir/own`;
    const volumes: Volumes = [
      { name: 'disk', persistentVolumeClaim: { claimName: 'disk' } },
      { name: 'hub', hostPath: { path, type: 'Directory' } },
    ];
    const attachment = await api.create(
      pods,
      podOf('attachment', 'until [ -s /hub/name ]; do sleep 0.1; done; cat /hub/name >>/disk/seen', volumes),
    );
    await running(api, 'attachment', 0);
    await until('its life in the volume', async () => (await cluster.readVolume(0, 'seen')) === 'vm\n');
    await cluster.stop();

    const moved = await cluster.start(t, 1);

    assert.equal((await running(moved, 'vm', 1)).metadata.uid, vm.metadata.uid);
    assert.equal((await running(moved, 'attachment', 1)).metadata.uid, attachment.metadata.uid);
    await until('both lives in the volume', async () => (await cluster.readVolume(1, 'seen')) === 'vm\nvm\n');
  });
});
