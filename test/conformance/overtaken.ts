import assert from 'node:assert/strict';
import { groupEnv } from '../../src/cpi/testing/test-cloud.ts';
import { podDisruptionBudgets, services } from '../../src/kubernetes/resources.ts';
import type { Fate, ProxiedRequest } from '../support/api-proxy.ts';
import { pass, through, type Through } from './through-proxy.ts';
import type { World } from './world.ts';

/**
 * Another writer changes a Service and a budget just before the CPI does, so that the CPI writes with an
 * outdated resourceVersion.
 */
export async function overtaken(world: World): Promise<void> {
  const touched = new Set<string>();
  const overtake = async ({ method, url }: ProxiedRequest): Promise<Fate> => {
    const [, plural = '', name = ''] = /\/(services|poddisruptionbudgets)\/([^/?]+)/u.exec(url) ?? [];
    if (name === '' || method === 'GET' || touched.has(`${method} ${plural}`)) return pass;
    touched.add(`${method} ${plural}`);
    const resource = plural === 'services' ? services : podDisruptionBudgets;
    const annotations = { 'conformance.test/overtaken': method };
    await world.api.patch({ resource, namespace: world.namespace, name }, { metadata: { annotations } });
    return pass;
  };
  const conflicts = new Set<string>();
  const onAnswer = ({ method, url }: ProxiedRequest, status: number): void => {
    if (status === 409) conflicts.add(`${method} ${url.split('/').at(-2) ?? ''}`);
  };
  const member = {
    properties: {
      disruption_budget: true,
      services: [{ name: 'overtaken', selector: 'vm', ports: [{ port: 80 }] }],
    },
    env: groupEnv('overtaken'),
  };
  const call = async (options: Through, method: string, args: readonly unknown[]): Promise<unknown> => {
    const { result, error } = await world.request(method, args, options);
    assert.equal(error, null, `${method}: ${error?.message}`);
    return result;
  };
  await through(
    world,
    overtake,
    async (options) => {
      const vms: string[] = [];
      for (let count = 0; count < 3; count += 1)
        vms.push(((await call(options, 'create_vm', world.vmArguments(member))) as [string])[0]);
      for (const vm of vms) await call(options, 'delete_vm', [vm]);
    },
    onAnswer,
  );
  for (const plural of ['services', 'poddisruptionbudgets'])
    assert.ok(
      [...conflicts].some((one) => one.endsWith(` ${plural}`)),
      [...conflicts, ...touched].join(),
    );
  assert.deepEqual((await world.objects()).services, []);
}
