import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { besideCluster, builtCluster } from './cluster-state.ts';

const namespaces = ['--user', '--map-root-user', '--mount', '--pid', '--fork', '--kill-child'];
const probe = spawnSync('unshare', [...namespaces, 'true'], { encoding: 'utf8' });
const skip =
  probe.status !== 0 && `needs user, mount and pid namespaces: ${probe.error?.message ?? probe.stderr}`;

test(
  'a cluster without a user namespace ends at once, with one sentence after the reason',
  { skip },
  async (t) => {
    const directory = await realpath(await mkdtemp(join(tmpdir(), 'bosh-kubernetes-lost-')));
    t.after(() => rm(directory, { recursive: true }));
    const runtime = join(directory, 'runtime');
    await mkdir(runtime);
    const main = builtCluster(join(import.meta.dirname, '..', '..'));
    const init = ['/bin/sh', join(import.meta.dirname, 'init.sh')];
    const argv = [...init, directory, process.execPath, besideCluster(main), runtime, 'true'];
    const without = 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"';

    const command = [...namespaces, '/bin/sh', '-c', without, 'sh', ...argv];
    const { status, stdout, stderr } = spawnSync('unshare', command, { encoding: 'utf8', timeout: 60_000 });

    assert.equal(stdout, 'the cluster ended before it had a user namespace; what it said is above\n');
    assert.match(stderr, /^unshare: [^\n]+\n$/);
    assert.equal(status, 1);
  },
);
