import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SimulatedNodes } from '../../embedded-cluster/node/simulated/simulated-nodes.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { nodes as nodeObjects } from '../../src/kubernetes/resources.ts';
import type { Fate } from '../support/api-proxy.ts';
import { until } from '../support/until.ts';
import { tokenOf } from './roles.ts';
import { pass, refusal, through } from './through-proxy.ts';
import type { World } from './world.ts';

/** A plugin is run again, and the call continues with the new credentials. */
export async function expiredAndFresh(world: World): Promise<void> {
  const runs = join(world.directory, 'runs');
  const given = join(world.directory, 'credential');
  const token = await tokenOf(world.target.access, world.namespace);
  const apiVersion = 'client.authentication.k8s.io/v1';
  const credential = { apiVersion, kind: 'ExecCredential', status: { token } };
  await writeFile(given, JSON.stringify(credential), { mode: 0o600 });
  await writeFile(runs, '');
  const script = 'echo run >> "$1" && exec /bin/cat "$2"';
  const exec = { apiVersion, command: '/bin/sh', args: ['-c', script, 'plugin', runs, given] };
  const hasRun = async (): Promise<number> => (await readFile(runs, 'utf8')).split('\n').length - 1;
  const zone = `later-${randomUUID().slice(0, 8)}`;
  const nodes = new SimulatedNodes({
    api: world.api,
    nodes: [{ name: zone, zone }],
    clock: systemClock,
    onError: (error) => {
      throw error;
    },
  });
  let expired = false;
  const decide = async (): Promise<Fate> =>
    expired && (await hasRun()) < 2 ? refusal(401, 'Unauthorized') : pass;
  await through(world, decide, async ({ settings }, { requests }) => {
    const kubeconfig = settings.kubernetes.kubeconfig as { users: { name: string }[] };
    const users = kubeconfig.users.map(({ name }) => ({
      name,
      user: { exec: { ...exec, interactiveMode: 'Never' } },
    }));
    const waiting = world.request('create_vm', world.vmArguments({ properties: { zone } }), {
      settings: { kubernetes: { kubeconfig: { ...kubeconfig, users } }, deadlines: { schedule: 120 } },
    });
    await until('the call to wait', () =>
      Promise.resolve(requests.some(({ url }) => url.includes('watch='))),
    );
    expired = true;
    await nodes.start();
    const { result, error } = await waiting;
    assert.equal(error, null, error?.message);
    assert.equal(await hasRun(), 2);
    await world.call('delete_vm', (result as [string])[0]);
  });
  await nodes.stop();
  await world.api.delete({ resource: nodeObjects, name: zone });
}
