import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, afterEach, before, describe, test } from 'node:test';
import { addressAnnotation } from '../../src/cni/plugin/requested-addresses.ts';
import { managedConflistName } from '../../src/cni/install/conflist.ts';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import type { Pod } from '../../src/kubernetes/types/pod.ts';
import { events, pods } from '../../src/kubernetes/resources.ts';
import { until } from '../support/until.ts';
import { staticIpImage, staticIpReference } from './image/images.ts';
import { network } from './network.ts';
import type { ClusterNode } from './node/cluster-node.ts';
import { conflistName } from './node/pod-network.ts';
import { PodWorld } from './pod-world.ts';
import type { RealCluster } from './real-cluster.ts';
import { testCluster, withoutNodes } from './test-cluster.ts';

const address = '10.77.200.7';
const installerLabel = 'app.kubernetes.io/name=static-ip';

describe('static-ip on real nodes', withoutNodes, () => {
  let world: PodWorld;
  let cluster: RealCluster;
  before(async () => {
    world = await PodWorld.open();
    cluster = testCluster();
  });
  after(() => world.close());

  const asking = (name: string, nodeName: string): Promise<Pod> =>
    world.pod(name, {
      // With a grace period of zero the object is deleted before its sandbox and the sandbox's address.
      spec: { nodeName, terminationGracePeriodSeconds: 1 },
      annotations: { [addressAnnotation]: address },
      script: 'mkdir /www; echo $HOSTNAME >/www/name; httpd -f -h /www -p 8080',
    });
  /** Removes the pods of a failed test, because each would keep the address from the next test. */
  afterEach(async () => {
    const { items } = await world.api.list<Pod>(pods, { namespace: world.namespace });
    for (const { metadata } of items) await world.remove(pods, metadata.name);
    await free();
  });

  const addressOf = async (name: string): Promise<string> => (await world.ready(name)).status?.podIP ?? '';
  /**
   * Returns the response at the address. A server that does not listen yet refuses the connection at once,
   * and the request is repeated. At an address without a host it takes longer than the timeout of a command.
   */
  async function nameSeenBy(pod: string): Promise<string> {
    const ask = `wget -q -O - http://${address}:8080/name`;
    return (await world.run(pod, `until ${ask}; do sleep 1; done`)).trim();
  }
  /** Returns the container that host-local keeps the address for, or undefined if it is free. */
  async function addressOwner(): Promise<string | undefined> {
    const file = join(cluster.layout.podAddresses, 'pods', address);
    return existsSync(file) ? (await readFile(file, 'utf8')).split(/\s/u)[0] : undefined;
  }
  const free = (): Promise<true> =>
    until(`${address} to be free`, async () => ((await addressOwner()) === undefined ? true : undefined));

  test('a pod has the address that it requests, on either node, and again after it was created again', async () => {
    await world.pod('peer', { spec: { nodeName: 'node-1' } });
    await world.ready('peer');
    for (const node of ['node-1', 'node-2', 'node-2', 'node-1']) {
      await asking('fixed', node);
      assert.equal(await addressOf('fixed'), address);
      assert.equal(await nameSeenBy('peer'), 'fixed');
      await world.remove(pods, 'fixed');
      await free();
    }
    await world.remove(pods, 'peer');
  });

  test('a pod that requests no address gets one of the range', async () => {
    await world.pod('dynamic', { spec: { nodeName: 'node-1' } });
    const number = (text: string): number =>
      text.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
    const given = number(await addressOf('dynamic'));
    assert.ok(given >= number(network.pods.first) && given <= number(network.pods.last));
    await world.remove(pods, 'dynamic');
  });

  for (const node of ['node-1', 'node-2']) {
    test(`on ${node} a pod that requests the address of another pod fails with an error that says so, and leaves nothing`, async () => {
      await asking('first', 'node-1');
      assert.equal(await addressOf('first'), address);
      const owner = await addressOwner();
      await asking('second', node);
      await until('an event that says why', async () => {
        const { items } = await world.api.list<KubernetesObject & { message?: string }>(events, {
          namespace: world.namespace,
          fieldSelector: 'involvedObject.name=second',
        });
        return items.some(({ message = '' }) =>
          message.includes(`the plugin 'bridge' did not give the fixed address ${address}`),
        );
      });
      const second = await world.api.get<Pod>({ resource: pods, namespace: world.namespace, name: 'second' });
      assert.equal(second.status?.phase, 'Pending');
      await world.remove(pods, 'second');
      assert.equal(await addressOwner(), owner);
      assert.equal(await nameSeenBy('first'), 'first');
      await world.remove(pods, 'first');
      await free();
    });
  }

  describe('by its DaemonSet', () => {
    const file = (node: ClusterNode, ...path: readonly string[]): string =>
      join(node.machine.directory, 'cni', ...path);
    const conflist = (node: ClusterNode): string => file(node, 'net.d', conflistName);
    const own = (node: ClusterNode): string => file(node, 'net.d', managedConflistName);
    const executable = (node: ClusterNode): string => file(node, 'bin', 'static-ip');
    /** The previous configuration of the nodes. */
    const kept = new Map<ClusterNode, string>();

    before(async () => {
      const image = await staticIpImage(cluster.layout.staticIp);
      for (const node of cluster.nodes) {
        await node.import(image);
        const text = await readFile(conflist(node), 'utf8');
        kept.set(node, text);
        await replace(conflist(node), withoutStaticIp(text));
        await rm(executable(node), { force: true });
      }
    });
    after(async () => {
      kubectl(['delete', '--ignore-not-found', '-f', '-'], await manifest());
      for (const [node, text] of kept) {
        await rm(own(node), { force: true });
        await copyFile(cluster.layout.staticIp, `${executable(node)}.new`);
        await rename(`${executable(node)}.new`, executable(node));
        await replace(conflist(node), text);
      }
      await withAddress(true);
    });

    /**
     * Waits until each node's containerd has read its configuration directory: a new pod then has the
     * address, or does not have it.
     */
    async function withAddress(isEnabled: boolean): Promise<void> {
      for (const { name } of cluster.nodes) {
        await until(`a pod on ${name} ${isEnabled ? 'with' : 'without'} its address`, async () => {
          await asking('probe', name);
          const has = (await addressOf('probe')) === address;
          await world.remove(pods, 'probe');
          await free();
          return has === isEnabled;
        });
      }
    }

    test('it is put before the network of every node, and the former one is back when it is removed', async () => {
      const previous = new Map<ClusterNode, string>();
      for (const node of cluster.nodes) previous.set(node, await readFile(conflist(node), 'utf8'));
      await withAddress(false);

      kubectl(['apply', '-f', '-'], await manifest());
      awaitRollout();
      await withAddress(true);
      for (const [node, text] of previous) assert.equal(await readFile(conflist(node), 'utf8'), text);

      // During an update the file always stays in place.
      const placed = await Promise.all(cluster.nodes.map((node) => stat(own(node))));
      kubectl(['--namespace=kube-system', 'rollout', 'restart', 'daemonset/static-ip']);
      awaitRollout();
      const stillPlaced = await Promise.all(cluster.nodes.map((node) => stat(own(node))));
      assert.deepEqual(stillPlaced.map(inode), placed.map(inode));

      // After the container was killed and its file removed, the restarted container writes it again.
      const [first = assert.fail()] = cluster.nodes;
      await killContainer(first, 'static-ip');
      await rm(own(first));
      await until('the file to be back', () => Promise.resolve(existsSync(own(first))));

      await asking('survivor', 'node-2');
      assert.equal(await addressOf('survivor'), address);
      kubectl(['delete', '-f', '-'], await manifest());
      await until('the installers to be gone', async () => (await installers()).length === 0);
      for (const [node, text] of previous) {
        assert.equal(existsSync(own(node)), false);
        assert.equal(existsSync(executable(node)), false);
        assert.equal(await readFile(conflist(node), 'utf8'), text);
      }
      // A pod that has its address keeps it, and releases it through the previous network.
      assert.equal(await nameSeenBy('survivor'), 'survivor');
      await world.remove(pods, 'survivor');
      await free();
      await withAddress(false);
    });

    test('removed while its installer cannot answer and is killed: the guard restores the original network', async () => {
      const previous = await contents();
      kubectl(['apply', '-f', '-'], await manifest());
      awaitRollout();
      const stopped = new Map<ClusterNode, string>();
      for (const node of cluster.nodes) stopped.set(node, await stopProcess(node, 'static-ip'));
      kubectl(['delete', '-f', '-'], await manifest());
      for (const [node, id] of stopped) await killOnceRequested(node, id);
      await until('the installers to be gone', async () => (await installers()).length === 0);
      assert.deepEqual(await contents(), previous);
    });

    test('removed while the node does not respond, it stays, and remove.yaml restores the original network', async () => {
      const previous = await contents();
      kubectl(['apply', '-f', '-'], await manifest());
      awaitRollout();
      const [first = assert.fail()] = cluster.nodes;
      const stopped = [await stopProcess(first, 'static-ip'), await stopProcess(first, 'guard')];
      kubectl(['delete', '-f', '-'], await manifest());
      for (const id of stopped) await killOnceRequested(first, id);
      await until('the installers to be gone', async () => (await installers()).length === 0);
      assert.equal(existsSync(own(first)), true);

      kubectl(['apply', '-f', '-'], await manifest('remove'));
      awaitRollout('static-ip-remove');
      assert.deepEqual(await contents(), previous);
      kubectl(['delete', '-f', '-'], await manifest('remove'));
    });

    test('its Role deleted first, and its containers killed after that: it is removed with its DaemonSet', async () => {
      const previous = await contents();
      kubectl(['apply', '-f', '-'], await manifest());
      awaitRollout();
      kubectl(['--namespace=kube-system', 'delete', 'role', 'static-ip']);
      for (const node of cluster.nodes) {
        await killContainer(node, 'static-ip');
        await killContainer(node, 'guard');
      }
      await until('second lives', async () =>
        (await installers()).every(({ status }) =>
          status?.containerStatuses?.every(
            ({ restartCount, state }) => restartCount > 0 && state?.running !== undefined,
          ),
        ),
      );
      kubectl(['--namespace=kube-system', 'delete', 'daemonset', 'static-ip']);
      await until('the installers to be gone', async () => (await installers()).length === 0);
      assert.deepEqual(await contents(), previous);
      kubectl(['delete', '--ignore-not-found', '-f', '-'], await manifest());
    });

    /** Returns the content of the directories of every node that it may change. */
    const contents = (): Promise<readonly unknown[]> =>
      Promise.all(
        cluster.nodes.map(async (node) => ({
          conflist: await readFile(conflist(node), 'utf8'),
          own: existsSync(own(node)),
          names: (await readdir(file(node, 'bin'))).filter((name) => name.includes('static-ip')),
        })),
      );

    const installers = async (): Promise<readonly Pod[]> =>
      (await world.api.list<Pod>(pods, { namespace: 'kube-system', labelSelector: installerLabel })).items;

    async function killContainer(node: ClusterNode, container: string): Promise<void> {
      const id = await containerId(node, container);
      const { exitCode, stderr } = await node.ctr(['tasks', 'kill', '--signal', 'SIGKILL', id]);
      assert.equal(exitCode, 0, stderr);
    }

    /** Stops the process, which then does not end on SIGTERM. Returns the container's id. */
    async function stopProcess(node: ClusterNode, container: string): Promise<string> {
      const id = await containerId(node, container);
      const { exitCode, stderr } = await node.ctr(['tasks', 'kill', '--signal', 'SIGSTOP', id]);
      assert.equal(exitCode, 0, stderr);
      return id;
    }

    /**
     * Sends SIGKILL, as at the end of the pod's grace period, to a stopped process that has a pending
     * SIGTERM. Earlier, the container would be restarted.
     */
    async function killOnceRequested(node: ClusterNode, id: string): Promise<void> {
      const { stdout } = await node.ctr(['tasks', 'list']);
      const [, pid = assert.fail(stdout)] = new RegExp(`^${id}\\s+(\\d+)`, 'mu').exec(stdout) ?? [];
      await until(`TERM to wait for process ${pid}`, async () => {
        const status = (await node.machine.run(['cat', `/proc/${pid}/status`])).stdout;
        return (BigInt(`0x${/^ShdPnd:\t(\w+)$/mu.exec(status)?.[1] ?? '0'}`) & termBit) !== 0n;
      });
      const { exitCode, stderr } = await node.ctr(['tasks', 'kill', '--signal', 'SIGKILL', id]);
      assert.equal(exitCode, 0, stderr);
    }

    async function containerId(node: ClusterNode, container: string): Promise<string> {
      const pod = (await installers()).find(({ spec }) => spec.nodeName === node.name);
      const status = pod?.status?.containerStatuses?.find(({ name }) => name === container);
      return status?.containerID?.split('//')[1] ?? assert.fail(`${container} of ${node.name}`);
    }
  });
});

/** SIGTERM in a mask of signals. */
const termBit = 1n << 14n;

function awaitRollout(name = 'static-ip'): void {
  kubectl(['--namespace=kube-system', 'rollout', 'status', `daemonset/${name}`, '--timeout=300s']);
}

/** Returns the repository's manifest with the image that the nodes have, for pods of every namespace. */
async function manifest(name: 'daemonset' | 'remove' = 'daemonset'): Promise<string> {
  const path = new URL(`../../manifests/static-ip/${name}.yaml`, import.meta.url);
  const text = await readFile(path, 'utf8');
  const image = `image: ${staticIpReference}\n          imagePullPolicy: Never`;
  // Each test has its own namespace.
  const forAll = text.replace(/^( *)- install$/mu, '$&\n$1- --namespaces=*');
  return forAll.replace(/image: registry\.example\.com\/.*/gu, image);
}

function kubectl(args: readonly string[], input = ''): string {
  const { status, stdout, stderr } = spawnSync('kubectl', args, { input, encoding: 'utf8' });
  assert.equal(status, 0, `kubectl ${args.join(' ')}: ${stderr}`);
  return stdout;
}

function withoutStaticIp(text: string): string {
  const list = JSON.parse(text) as { plugins: { type: string; delegate?: object }[] };
  const plugins = list.plugins.map((plugin) => plugin.delegate ?? plugin);
  return JSON.stringify({ ...list, plugins }, undefined, 2);
}

async function replace(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
}

const inode = ({ ino }: { readonly ino: number }): number => ino;
