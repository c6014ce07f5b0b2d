import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import { existsSync } from 'node:fs';
import { mkdir, readFile, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import type { Container, Pod, PodSpec } from '../../src/kubernetes/types/pod.ts';
import { events, pods } from '../../src/kubernetes/resources.ts';
import { EmbeddedEnvironment, namespace } from '../support/embedded-environment.ts';
import { LineVm, stemcell, volumeOf } from '../support/line-vm.ts';
import { mountsOf, processesOf } from '../support/machine.ts';
import { until } from '../support/until.ts';
import { probes, variables } from './escape-probes.ts';
import { missing, Quarry } from './safety-host.ts';

/** The suite's addresses are 127.64.77.0/24. */
describe('root in a pod cannot escape to the machine', { skip: missing ?? false }, () => {
  let line: EmbeddedEnvironment;
  let quarry: Quarry;
  let vm: LineVm;

  before(async () => {
    quarry = await Quarry.make();
    line = await EmbeddedEnvironment.start();
    vm = await LineVm.create(line, '127.64.77.2');
    await vm.newDisk();
    await createPod('plain', {});
    const shared = join(line.clusterDirectory, 'kubelet', 'shared');
    await mkdir(shared);
    await createPod('sharing', {
      ...{ hostPID: true, hostNetwork: true },
      containers: [
        privileged({ volumeMounts: [{ name: 'hub', mountPath: '/hub', mountPropagation: 'Bidirectional' }] }),
      ],
      volumes: [{ name: 'hub', hostPath: { path: shared, type: 'Directory' } }],
    });
    await createPod('nodepids', { hostPID: true, hostNetwork: true });
    for (const name of ['plain', 'sharing', 'nodepids']) await untilRunning(name);
  });

  after(async () => {
    await line.destroy();
    await quarry.remove();
    assert.deepEqual(await processesOf(line.directory), []);
    assert.deepEqual(await mountsOf(line.directory), []);
    await line.remove();
  });

  for (const probe of probes) {
    test(`refused: ${probe.name}`, async (t) => {
      if (typeof probe.proof === 'object') {
        t.diagnostic(`not proven on the host: ${probe.proof.none}`);
      } else {
        const { exitCode, stderr } = await quarry.proveOnHost(probe.script, line.clusterDirectory);
        if (exitCode !== 0 && probe.proof === 'where it can') {
          t.skip(`not even the host's root can do it here: ${stderr}`);
          return;
        }
        assert.equal(
          exitCode,
          0,
          `this probe finds nothing, because not even the host's root can do it: ${stderr}`,
        );
      }
      const script = `${variables({ ...quarry.target, cluster: line.clusterDirectory })}\n${probe.script}`;
      for (const [pod, container] of [
        [vm.cid, 'bosh'],
        ['plain', 'main'],
        ['sharing', 'main'],
        ['nodepids', 'main'],
      ]) {
        const { exitCode, stdout, stderr } = await line.exec(pod ?? '', script, container);
        assert.notEqual(exitCode, 0, `${pod ?? ''} came through: ${stdout}${stderr}`);
      }
      assert.equal(await readFile(quarry.target.canary, 'utf8'), 'alive');
      assert.deepEqual(
        (await readdir('/usr')).filter((name) => name.startsWith('.bosh-kubernetes')),
        [],
      );
    });
  }

  test('its own host name is its own', async () => {
    const name = hostname();
    await vm.run('hostname changed-by-a-pod; test "$(hostname)" = changed-by-a-pod');
    assert.equal(hostname(), name);
  });

  test('a program that a pod put in the place of the node’s own gets no right of the node by exec', async () => {
    const { exitCode, stderr } = await line.exec(
      'sharing',
      `cat > /tmp/setpriv <<'.'
#!/bin/sh
for process in /proc/[0-9]*; do
  file=$process/root/proc/sys/vm/swappiness
  value=$(cat $file) && echo "$value" > $file && echo came through
done
grep CapEff /proc/self/status
.
      chmod 755 /tmp/setpriv; mount --bind /tmp/setpriv "$(command -v setpriv)"`,
      'main',
    );
    assert.equal(exitCode, 0, stderr);
    const { stdout } = await line
      .exec('sharing', 'true', 'main')
      .catch((error: unknown) => ({ stdout: String(error) }));
    assert.match(stdout, /CapEff/);
    assert.doesNotMatch(stdout, /came through/);
  });

  test('kill -9 of everything it sees ends nothing outside of the cluster, and a VM pod nothing but itself', async () => {
    const { process: first } = await line.restart();
    await line.exec(vm.cid, 'kill -9 -1').catch(() => undefined);
    await until(
      'the plain pod to answer',
      async () => (await line.exec('plain', 'true', 'main')).exitCode === 0,
    );
    assert.equal((await line.restart()).process.pid, first.pid);
    process.kill(quarry.target.pid, 0);
    await vm.untilAgentAnswers();
  });

  test('a pod that sees the node’s processes can end the cluster, and nothing else', async () => {
    await line.exec('nodepids', 'kill -9 -1', 'main').catch(() => undefined);
    await until('the end of the cluster', async () => (await processesOf(line.directory)).length === 0);
    process.kill(quarry.target.pid, 0);
    await line.restart();
    await vm.untilAgentAnswers();
    await untilRunning('nodepids');
  });

  test('a set-user-id file on a disk is out of reach for other users of the machine', async () => {
    const disk = (await line.call('get_disks', vm.cid)) as [string];
    await vm.run('cp /usr/bin/id /var/vcap/store/id && chmod 4755 /var/vcap/store/id');
    const file = join(await volumeOf(line, disk[0]), 'store', 'id');
    assert.equal((await stat(file)).mode & 0o7777, 0o4755);
    const { exitCode } = await quarry.proveOnHost(
      // setpriv itself keeps its capabilities until it has executed a program.
      `setpriv --reuid 65534 --regid 65534 --clear-groups /bin/sh -c '${file}'`,
      line.clusterDirectory,
    );
    assert.notEqual(exitCode, 0);
  });

  const refusals: readonly (readonly [string, () => Partial<PodSpec>, RegExp])[] = [
    ['a folder of the host as a volume', () => hostPath('/'), /gives pods nothing outside/],
    [
      'a folder of the host by ..',
      () => hostPath(`${line.clusterDirectory}/kubelet/../..`),
      /must not contain '\.\.'|is not a directory/,
    ],
    [
      'the journal as a volume',
      () => hostPath(join(line.clusterDirectory, 'journal')),
      /gives pods nothing outside/,
    ],
    [
      'Bidirectional without privilege',
      () => ({
        hostPID: true,
        containers: [
          {
            ...privileged({
              volumeMounts: [{ name: 'v', mountPath: '/v', mountPropagation: 'Bidirectional' }],
            }),
            securityContext: { privileged: false },
          },
        ],
        volumes: [{ name: 'v', emptyDir: {} }],
      }),
      /[Bb]idirectional/,
    ],
    [
      'Bidirectional with a /proc of its own',
      () => ({
        containers: [
          privileged({ volumeMounts: [{ name: 'v', mountPath: '/v', mountPropagation: 'Bidirectional' }] }),
        ],
        volumes: [{ name: 'v', emptyDir: {} }],
      }),
      /hostPID/,
    ],
    [
      'a volume over /proc/sys',
      () => ({
        containers: [privileged({ volumeMounts: [{ name: 'v', mountPath: '/proc/sys' }] })],
        volumes: [{ name: 'v', emptyDir: {} }],
      }),
      /cannot be mounted/,
    ],
  ];
  for (const [index, [name, spec, why]] of refusals.entries()) {
    test(`no pod gets ${name}`, async () => {
      const pod = `refused-${index}`;
      let output: string;
      try {
        await createPod(pod, spec());
        output = await until(`a word about ${pod}`, async () => {
          const description = await describePod(pod);
          return why.test(description) ? description : undefined;
        });
        assert.notEqual((await getPod(pod)).status?.phase, 'Running', output);
        await (await line.api()).delete({ resource: pods, namespace, name: pod });
      } catch (error) {
        // The API server itself rejected it.
        if ((error as Error).name !== 'ApiError') throw error;
        output = String(error);
      }
      assert.match(output, why);
    });
  }

  test('a symbolic link in place of a subPath leads nowhere', async () => {
    const planter = privileged({ volumeMounts: [{ name: 'v', mountPath: '/all' }] });
    const guest: Container = {
      ...privileged({ volumeMounts: [{ name: 'v', mountPath: '/sub', subPath: 'sub' }] }),
      name: 'guest',
    };
    await createPod('subpath', { containers: [planter, guest], volumes: [{ name: 'v', emptyDir: {} }] });
    await untilRunning('subpath');
    await line.exec('subpath', `rm -rf /all/sub && ln -s ${quarry.directory} /all/sub`, 'main');
    await line.exec('subpath', 'kill -TERM 1', 'guest').catch(() => undefined);
    await until('the refusal', async () => /neither a directory/.test(await describePod('subpath')));
    await (await line.api()).delete({ resource: pods, namespace, name: 'subpath' });
    await until('the pod to go', async () => !(await exists('subpath')));
    assert.equal(await readFile(quarry.target.canary, 'utf8'), 'alive');
  });

  test('a symbolic link in place of the hub’s folder leads no disk outside', async () => {
    const other = await LineVm.create(line, '127.64.77.3');
    const disk = (await line.call('create_disk', 16, {}, other.cid)) as string;
    await other.run(`cd /warden-cpi-dev && mv disks away && ln -s ${quarry.directory} disks`);
    const { error } = await line.cpi('attach_disk', other.cid, disk);
    assert.ok(error !== null);
    assert.deepEqual((await readdir(quarry.directory)).toSorted(), ['canary', 'folder']);
    await line.call('delete_vm', other.cid);
    await line.call('delete_disk', disk);
    assert.equal(existsSync(quarry.target.canary), true);
  });

  function privileged(changes: Partial<Container>): Container {
    return {
      name: 'main',
      image: stemcell,
      command: ['/bin/sh', '-c', 'trap "exit 0" TERM; while :; do sleep 1 & wait $!; done'],
      securityContext: { privileged: true },
      ...changes,
    };
  }

  function hostPath(path: string): Partial<PodSpec> {
    return {
      containers: [privileged({ volumeMounts: [{ name: 'v', mountPath: '/v' }] })],
      volumes: [{ name: 'v', hostPath: { path, type: 'Directory' } }],
    };
  }

  async function createPod(name: string, spec: Partial<PodSpec>): Promise<void> {
    const { containers = [privileged({})], ...rest } = spec;
    await (
      await line.api()
    ).create<Pod>(pods, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { namespace, name },
      spec: { terminationGracePeriodSeconds: 1, containers, ...rest },
    });
  }

  const getPod = async (name: string): Promise<Pod> =>
    (await line.api()).get<Pod>({ resource: pods, namespace, name });

  async function exists(name: string): Promise<boolean> {
    const { items } = await (await line.api()).list<Pod>(pods, { namespace });
    return items.some((pod) => pod.metadata.name === name);
  }

  async function untilRunning(name: string): Promise<void> {
    await until(`pod ${name} to run`, async () => {
      const { status } = await getPod(name);
      return status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true;
    });
  }

  /** Returns the node's messages about a pod, from its events and its status. */
  async function describePod(name: string): Promise<string> {
    const { items } = await (
      await line.api()
    ).list<KubernetesObject & { message: string; involvedObject: { name: string } }>(events, { namespace });
    const messages = items
      .filter((event) => event.involvedObject.name === name)
      .map(({ message }) => message);
    return [...messages, JSON.stringify((await getPod(name)).status)].join('\n');
  }
});
