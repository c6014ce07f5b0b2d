import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { DeploymentFiles } from '../../deploy/state/deployment-files.ts';
import { kubeconfigPath } from '../cluster/kubeconfig.ts';
import { mainModulePath } from '../installation.ts';
import {
  addObjects,
  recordDeployment,
  smallInstallation,
  type SmallInstallation,
} from '../testing/small-installation.ts';

const main = mainModulePath(join(import.meta.dirname, '..', '..', '..'));
const withoutScript =
  spawnSync('script', ['--version']).status === 0 ? false : 'needs script(1) of util-linux';
const question = '? [yes/no] ';

/** Runs `destroy` on a terminal of script(1). `answer` is typed once the question is shown. */
function destroyOnTerminal(
  { home, manifestPath }: SmallInstallation,
  answer: (type: (keys: string) => void, shell: number) => void,
  flags = '',
): Promise<{ exitCode: number | null; screen: string }> {
  const command = 'echo "pid $$"; exec "$NODE" "$MAIN" destroy "$MANIFEST" $FLAGS';
  const child = spawn('script', ['--quiet', '--return', '--flush', '--command', command, '/dev/null'], {
    env: {
      ...{ PATH: process.env['PATH'], SHELL: '/bin/sh', BOSH_KUBERNETES_HOME: home },
      ...{ NODE: process.execPath, MAIN: main, MANIFEST: manifestPath, FLAGS: flags },
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let screen = '';
  let wasAsked = false;
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    screen += part;
    if (wasAsked || !screen.includes(question)) return;
    wasAsked = true;
    answer((keys) => void child.stdin.write(keys), Number(/pid (\d+)/.exec(screen)?.[1]));
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (exitCode) => resolve({ exitCode, screen }));
  });
}

describe('destroy on a terminal', { skip: withoutScript }, () => {
  for (const word of ['yes', 'Y'])
    test(`the answer ${word} removes everything`, async (t) => {
      const installation = await smallInstallation(t);

      const { exitCode, screen } = await destroyOnTerminal(installation, (type) => type(`${word}\r`));

      assert.equal(exitCode, 0, screen);
      const beside = installation.manifestPath.replace('.yml', '');
      for (const named of [join(installation.home, 'cluster'), `${beside}-state.json`, `${beside}-creds.yml`])
        assert.ok(screen.includes(named), `${named} is not in: ${screen}`);
      assert.match(screen, /Destroyed\./);
      assert.deepEqual(await installation.leftovers(), []);
    });

  test('the question names the VMs and disks of this deployment and of others, and yes removes them', async (t) => {
    const installation = await smallInstallation(t);
    await recordDeployment(installation, { director_id: 'mine' });
    await addObjects(installation.home, [
      { resource: 'pods', cid: 'vm-own', kind: 'vm', director: 'mine', deployment: 'hello' },
      { resource: 'persistentvolumeclaims', cid: 'disk-other', kind: 'disk', director: 'other' },
    ]);

    const { exitCode, screen } = await destroyOnTerminal(installation, (type) => type('yes\r'));

    assert.equal(exitCode, 0, screen);
    assert.match(
      screen,
      /of the deployment:\s+VM 'hello\/web\/0' \(vm-own\)\s+.*not belong to the deployment:\s+disk 'disk-other'\s.*Remove the cluster/s,
    );
    assert.deepEqual(await installation.leftovers(), []);
  });

  test('the question says that there is no cluster, whose folder may not be mounted', async (t) => {
    const installation = await smallInstallation(t);
    await rm(join(installation.home, 'cluster'), { recursive: true });
    const before = await installation.leftovers();

    const { exitCode, screen } = await destroyOnTerminal(installation, (type) => type('no\r'));

    assert.equal(exitCode, 1, screen);
    assert.match(screen, /There is no cluster in .*not mounted, answer no\..*Remove '.*state\.json'/s);
    assert.deepEqual(await installation.leftovers(), before);
  });

  test('a disk that another command creates during the question is not removed', async (t) => {
    const installation = await smallInstallation(t);
    const { home } = installation;
    const disk = { resource: 'persistentvolumeclaims', cid: 'disk-new', kind: 'disk' };
    const before = await installation.leftovers();

    const { exitCode, screen } = await destroyOnTerminal(
      installation,
      (type) => void addObjects(home, [disk]).then(() => type('yes\r')),
    );

    assert.equal(exitCode, 1, screen);
    assert.match(screen, /disk 'disk-new'.*\[DESTROY_REFUSED\]/s);
    assert.deepEqual(await installation.leftovers(), before);
  });

  test('the files of a deployment that another command deploys again during the question stay', async (t) => {
    const installation = await smallInstallation(t);
    const { home, manifestPath } = installation;
    const files = await DeploymentFiles.find(manifestPath);
    const cluster = {
      ...{ server: 'https://127.0.0.1:1', installation_id: 'one' },
      kubeconfig: kubeconfigPath(join(home, 'cluster')),
    };
    await recordDeployment(installation, { current_vm_cid: 'vm-1' });
    await files.recordCluster({ ...cluster, uid: 'earlier' });
    await addObjects(home, [{ resource: 'namespaces', cid: 'kube-system', uid: 'now' }]);
    const before = await installation.leftovers();

    const { exitCode, screen } = await destroyOnTerminal(
      installation,
      (type) => void files.recordCluster({ ...cluster, uid: 'now' }).then(() => type('yes\r')),
    );

    assert.equal(exitCode, 1, screen);
    assert.match(screen, /has changed since this 'destroy' started.*\[DESTROY_REFUSED\]/s);
    assert.deepEqual(await installation.leftovers(), before);
  });

  for (const [what, keys] of [
    ['the answer no', 'no\r'],
    ['an empty line', '\r'],
    ['the end of input', '\u0004'],
    ['Ctrl-C', '\u0003'],
  ] as const) {
    test(`${what} removes nothing`, async (t) => {
      const installation = await smallInstallation(t);
      const before = await installation.leftovers();

      const { exitCode, screen } = await destroyOnTerminal(installation, (type) => type(keys));

      assert.equal(exitCode, 1, screen);
      assert.match(screen, /Nothing was removed\./);
      assert.doesNotMatch(screen, /Error/);
      assert.deepEqual(await installation.leftovers(), before);
    });
  }

  test('--non-interactive suppresses the question and does not count as a yes', async (t) => {
    const installation = await smallInstallation(t);
    const before = await installation.leftovers();

    const { exitCode, screen } = await destroyOnTerminal(installation, (type) => type('no\r'), '-n');

    assert.equal(exitCode, 1, screen);
    assert.match(screen, /Nothing was removed: -n was given\. Use --force/);
    assert.ok(!screen.includes(question), screen);
    assert.deepEqual(await installation.leftovers(), before);
  });

  test('SIGTERM during the question removes nothing', async (t) => {
    const installation = await smallInstallation(t);
    const before = await installation.leftovers();

    const { exitCode, screen } = await destroyOnTerminal(installation, (_, pid) =>
      process.kill(pid, 'SIGTERM'),
    );

    assert.equal(exitCode, 1, screen);
    assert.match(screen, /Nothing was removed\./);
    assert.deepEqual(await installation.leftovers(), before);
  });
});
