import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { until } from '../../test/support/until.ts';
import { loadAccess } from '../../src/kubernetes/access/kubeconfig-access.ts';
import { openApi } from '../../src/kubernetes/client/rest-api.ts';
import type { Pod } from '../../src/kubernetes/types/pod.ts';
import { execInPod } from '../../src/kubernetes/client/exec.ts';
import { pods } from '../../src/kubernetes/resources.ts';
import { hostRootImage } from '../node/node-object.ts';
import { builtCluster } from './cluster-state.ts';
import { removeClusterDirectory } from './remove-cluster-directory.ts';
import { stopDaemon } from './stop-daemon.ts';
import { describeAsUsers } from './testing/as-users.ts';

/** The numbers of the system calls keyctl and add_key. */
const numbers = { x64: [250, 248], arm64: [219, 217] }[process.arch as string];

/**
 * Acts as an operator's shell: it has a session key ring with a key, and open directories at high
 * descriptors.
 */
const operator = (keyctl: number, addKey: number): string => `
use POSIX ();
$^F = 1000;
my ($type, $name, $secret) = ("user", "operator-secret", "topsecret");
syscall(${keyctl}, 1, 0);
syscall(${addKey}, $type, $name, $secret, 9, -3) > 0 or print STDERR "no keys here\\n";
opendir my $root, "/" or die;
POSIX::dup2(fileno $root, $_) for 21, 251;
exec { $ARGV[0] } @ARGV or die;
`;

/**
 * Acts as root of a pod: it prints the operator's key and directories that it can reach, and leaves a key for
 * the next pod.
 */
const thief = (keyctl: number, addKey: number): string => `
my ($type, $name) = ("user", "operator-secret");
my $key = syscall(${keyctl}, 10, -3, $type, $name, 0);
my $value = " " x 32;
print "key ", $key > 0 && syscall(${keyctl}, 11, $key, $value, 32) > 0 ? $value : "none", "\\n";
for (21, 251) { print "descriptor $_ ", readlink("/proc/self/fd/$_") // "none", "\\n" }
my $left = "left";
syscall(${addKey}, $type, $name, $left, 4, -3);
`;

const start = `
import { startDaemon } from ${JSON.stringify(join(import.meta.dirname, 'start-daemon.ts'))};
await startDaemon(JSON.parse(process.argv[1]));
`;

const nothing = 'key none\ndescriptor 21 none\ndescriptor 251 none\n';
const skip =
  numbers === undefined || !existsSync('/usr/bin/perl') ? 'needs perl on x64 or arm64, for keyctl(2)' : false;

describeAsUsers(import.meta.filename, () => {
  test(
    "a pod can use neither the operator's session keyring nor its open directories",
    { skip },
    async (t) => {
      const [keyctl = 0, addKey = 0] = numbers ?? [];
      const directory = await realpath(await mkdtemp(join(tmpdir(), 'bosh-kubernetes inherited ')));
      const runtimeDirectory = join(directory, 'runtime');
      await mkdir(runtimeDirectory);
      t.after(async () => {
        await stopDaemon(directory, { grace: 2_000 });
        await removeClusterDirectory(directory);
      });
      const main = builtCluster(join(import.meta.dirname, '..', '..'));
      const options = JSON.stringify({ directory, runtimeDirectory, nodeBinary: process.execPath, main });
      const node = [process.execPath, '--input-type=module', '-e', start, options];
      const started = await promisify(execFile)('perl', ['-e', operator(keyctl, addKey), ...node]);
      if (started.stderr !== '') t.diagnostic(started.stderr);

      const access = await loadAccess(await readFile(join(directory, 'kubeconfig'), 'utf8'));
      const api = await openApi(access);
      t.after(() => api.close());
      const script = `perl -e "$1" >/tmp/found; mv /tmp/found /tmp/first; exec sleep 1000`;
      await api.create<Pod>(pods, {
        metadata: { namespace: 'bosh', name: 'thief' },
        spec: {
          terminationGracePeriodSeconds: 0,
          containers: [
            {
              name: 'main',
              image: hostRootImage,
              command: ['/bin/sh', '-c', script, 'sh', thief(keyctl, addKey)],
            },
          ],
        },
      });
      const run = (...command: string[]): ReturnType<typeof execInPod> =>
        execInPod(access, {
          ...{ namespace: 'bosh', pod: 'thief', container: 'main', command, deadlineMs: 30_000 },
        });
      await until(
        'what the first program found',
        async () => (await run('test', '-e', '/tmp/first').catch(() => undefined))?.exitCode === 0,
      );
      assert.equal((await run('cat', '/tmp/first')).stdout, nothing);
      for (let round = 0; round < 2; round += 1) {
        assert.equal((await run('perl', '-e', thief(keyctl, addKey))).stdout, nothing);
      }
    },
  );
});
