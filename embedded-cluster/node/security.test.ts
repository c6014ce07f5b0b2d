import assert from 'node:assert/strict';
import { mkdir, mkdtemp, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { systemClock } from '../../src/platform/clock.ts';
import type { Container, ContainerSecurityContext, Pod, PodSpec } from '../../src/kubernetes/types/pod.ts';
import { pods } from '../../src/kubernetes/resources.ts';
import { waitFor } from '../../src/kubernetes/client/wait.ts';
import { type LocalApi, openLocalApi } from '../api-server/local-api.ts';
import { runCommand } from './command.ts';
import type { EmbeddedNode } from './embedded-node.ts';
import { hostRootImage } from './node-object.ts';
import { mountsAtOrBelow, readMountTable } from '../../src/platform/mountinfo.ts';
import { safeRemove } from '../../src/platform/safe-remove.ts';
import { startNode } from './start-node.ts';
import { describeInNamespace, namespaceMode } from './testing/in-namespace.ts';

/** containerd's default capabilities as the kernel shows them (containerd: pkg/oci/spec.go). */
const defaults = '00000000a80425fb';
const withSysAdmin = '00000000a82425fb';

// A container has exactly the rights that its spec requests.
describeInNamespace(import.meta.filename, () => {
  const namespace = 'bosh';
  const errors: unknown[] = [];
  let directory: string;
  let api: LocalApi;
  let node: EmbeddedNode;
  let count = 0;

  before(async () => {
    directory = await realpath(await mkdtemp(join(tmpdir(), 'bosh-kubernetes-security-')));
    const runtimeDirectory = join(directory, 'runtime');
    await mkdir(runtimeDirectory);
    api = await openLocalApi({ directory });
    const onError = (error: unknown): void => void errors.push(error);
    node = await startNode({
      ...{ api, directory, runtimeDirectory, clock: systemClock, version: '1.36.0', onError },
    });
  });

  after(async () => {
    await node.stop(0);
    await api.close();
    for (;;) {
      const [entry] = mountsAtOrBelow(await readMountTable(), directory);
      if (entry === undefined) break;
      assert.equal((await runCommand('umount', ['--lazy', entry.target])).exitCode, 0);
    }
    await safeRemove(directory);
    assert.deepEqual(errors, []);
  });

  /**
   * Runs a script to its end in a new pod. Returns its output, or the reason why the node rejects the pod.
   */
  async function run(
    script: string,
    securityContext: ContainerSecurityContext,
    changes: { container?: Partial<Container>; spec?: Partial<PodSpec> } = {},
  ): Promise<string> {
    const name = `p-${(count += 1)}`;
    const command = ['/bin/sh', '-c', `exec > /dev/termination-log 2>&1\n${script}\nexit 0`];
    const container = { name: 'main', image: hostRootImage, command, securityContext, ...changes.container };
    await api.create<Pod>(pods, {
      metadata: { namespace, name },
      spec: {
        ...{ nodeName: 'embedded', restartPolicy: 'Never', containers: [container] },
        // No controller here publishes the root CA of a namespace, which a token volume contains.
        automountServiceAccountToken: false,
        ...changes.spec,
      },
    });
    const { status = {} } = await waitFor<Pod, Pod>({
      api,
      reference: { resource: pods, namespace, name },
      condition: (pod) => (['Succeeded', 'Failed'].includes(pod?.status?.phase ?? '') ? pod : undefined),
      awaited: `pod ${name} to end`,
      deadlineMs: 30_000,
      describeState: (last) => JSON.stringify(last?.status),
    });
    return status.message ?? status.containerStatuses?.[0]?.state?.terminated?.message ?? '';
  }

  const capabilities = async (securityContext: ContainerSecurityContext): Promise<Record<string, string>> => {
    const lines = (await run('grep ^Cap /proc/self/status', securityContext)).trim().split('\n');
    return Object.fromEntries(
      lines.map((line) => line.split(/:\s+/u)).map(([name = '', mask = '']) => [name, mask]),
    );
  };

  const exactly = (mask: string): Record<string, string> => ({
    ...{ CapInh: '0'.repeat(16), CapPrm: mask, CapEff: mask, CapBnd: mask, CapAmb: '0'.repeat(16) },
  });

  const mountTwice = [
    'mkdir -p /mnt/a /mnt/b',
    'mount --bind /mnt/a /mnt/b && echo bind',
    'mount -t tmpfs t /mnt/a && echo tmpfs',
  ].join('\n');

  test('a container has the default fourteen capabilities, with added and dropped ones', async () => {
    assert.deepEqual(await capabilities({}), exactly(defaults));
    assert.deepEqual(await capabilities({ capabilities: { add: ['SYS_ADMIN'] } }), exactly(withSysAdmin));
    assert.deepEqual(await capabilities({ capabilities: { drop: ['ALL'] } }), exactly('0'.repeat(16)));
    assert.deepEqual(
      await capabilities({ capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] } }),
      exactly('0000000000000400'),
    );
    const { CapBnd = '' } = await capabilities({ capabilities: { drop: ['MKNOD'] } });
    assert.equal((BigInt(`0x${CapBnd}`) >> 27n) & 1n, 0n);
  });

  test('mount(2) fails with the default capabilities and works with SYS_ADMIN, without privilege', async () => {
    const refused = await run(mountTwice, {});
    assert.doesNotMatch(refused, /^(bind|tmpfs)$/mu);
    assert.match(refused, /permission denied|must be superuser/iu);
    const allowed = await run(mountTwice, { capabilities: { add: ['SYS_ADMIN'] } });
    assert.equal(allowed, 'bind\ntmpfs\n');
  });

  test('SYS_ADMIN gives no permission over the machine', async () => {
    const attempts = [
      'mount -o remount,bind,rw /usr && echo BAD usr',
      'umount /proc/sys && echo BAD proc sys',
      'mkdir /tmp/p; mount -t proc p /tmp/p && echo BAD proc',
      'mount -t sysfs s /tmp/p && echo BAD sysfs',
      'echo 61 > /proc/sys/vm/swappiness && echo BAD sysctl',
      'echo tried',
    ];
    const output = await run(attempts.join('\n'), { capabilities: { add: ['SYS_ADMIN'] } });
    assert.doesNotMatch(output, /BAD/u);
    assert.match(output, /tried/u);
  });

  test('no_new_privs is set only with allowPrivilegeEscalation: false', async () => {
    const flag = (own: ContainerSecurityContext): Promise<string> =>
      run("awk '/^NoNewPrivs/ { print $2 }' /proc/self/status", own);
    assert.equal((await flag({})).trim(), '0');
    assert.equal((await flag({ allowPrivilegeEscalation: true })).trim(), '0');
    assert.equal((await flag({ allowPrivilegeEscalation: false })).trim(), '1');
  });

  test('a read-only root can have writable volumes in it', async () => {
    const output = await run(
      'touch /var/x || echo refused; touch /data/x && echo written; touch /fixed/x || echo refused too',
      { readOnlyRootFilesystem: true },
      {
        container: {
          volumeMounts: [
            { name: 'v', mountPath: '/data' },
            { name: 'v', mountPath: '/fixed', readOnly: true },
          ],
        },
        spec: { volumes: [{ name: 'v', emptyDir: {} }] },
      },
    );
    assert.match(
      output,
      /'\/var\/x': Read-only.*\nrefused\nwritten\n.*'\/fixed\/x': Read-only.*\nrefused too/u,
    );
    assert.equal(await run('touch /var/x && echo written', {}), 'written\n');
  });

  test('user and group are those of the container, then of the pod, then of the image', async (t) => {
    if (namespaceMode !== 'root') {
      t.skip('a single id is mapped here');
      return;
    }
    const shared = { spec: { securityContext: { runAsUser: 7, runAsGroup: 8 } } };
    assert.equal((await run('id -u; id -g; id -G', {}, shared)).replaceAll('\n', ' '), '7 8 8 ');
    assert.equal((await run('id -u; id -g', { runAsUser: 1000 })).replaceAll('\n', ' '), '1000 1000 ');
    assert.equal((await run('id -u; id -g', { runAsUser: 4711 })).replaceAll('\n', ' '), '4711 0 ');
    assert.deepEqual(await capabilities({ runAsUser: 1000 }), {
      ...{ ...exactly('0'.repeat(16)), CapBnd: defaults },
    });
  });

  test('an option that the node cannot enforce is refused', async () => {
    const profile = (type: 'RuntimeDefault' | 'Unconfined') => ({ type });
    assert.match(
      await run('true', { seccompProfile: profile('RuntimeDefault') }),
      /seccompProfile RuntimeDefault/u,
    );
    assert.match(
      await run('true', { appArmorProfile: profile('RuntimeDefault') }),
      /appArmorProfile RuntimeDefault/u,
    );
    const shared = { spec: { securityContext: { seccompProfile: profile('RuntimeDefault') } } };
    assert.match(await run('true', {}, shared), /seccompProfile/u);
    // The container's profile overrides that of the pod.
    const open = { seccompProfile: profile('Unconfined'), appArmorProfile: profile('Unconfined') };
    assert.equal(await run('echo runs', open, shared), 'runs\n');
    assert.match(await run('true', { runAsNonRoot: true }), /runAsNonRoot/u);
  });
});
