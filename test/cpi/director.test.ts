import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { clientSecret, DirectorServer } from '../../src/cpi/director/testing/director-server.ts';
import { label } from '../../src/cpi/labels.ts';
import type { CpiError, CpiResponse } from '../../src/cpi/protocol.ts';
import { createVmArguments, groupEnv, namespace } from '../../src/cpi/testing/test-cloud.ts';
import { pods } from '../../src/kubernetes/resources.ts';
import { createTestAuthority } from '../../src/kubernetes/testing/certificates.ts';
import { closedPort } from '../../src/kubernetes/testing/closed-port.ts';
import { call, isMissing } from './artefact.ts';
import { CpiWorld } from './cpi-world.ts';

const manifest = 'instance_groups: [{name: web}, {name: smoke_tests, lifecycle: errand}]';
let world: CpiWorld;
let director: DirectorServer;

before(async () => {
  world = await CpiWorld.start();
  director = await DirectorServer.start({ uuid: 'director-1', deployments: { deployment: manifest } });
});
after(async () => {
  await director.close();
  await world.stop();
});

/** What the director says of a VM's group, by real processes. */
for (const name of ['executable', 'bundle'] as const) {
  describe(`the CPI's ${name}`, { skip: isMissing(name) }, () => {
    const create = async (
      instanceGroup: string,
      settings: object = {},
      properties: object = { disruption_budget: true },
    ): Promise<CpiResponse> => {
      const artefact = world.artefacts.get(name);
      assert.ok(artefact !== undefined);
      const config = join(world.directory, `director-${name}.json`);
      await writeFile(
        config,
        JSON.stringify({ ...world.settings, director: director.settings, ...settings }),
      );
      const networks = { default: { type: 'dynamic' } };
      const env = groupEnv(instanceGroup);
      const args = createVmArguments({ agentId: randomUUID(), networks, env, properties });
      const context = { director_uuid: 'director-1' };
      const response = await call(artefact, { method: 'create_vm', arguments: args, context }, { config });
      assert.doesNotMatch(JSON.stringify(response), new RegExp(clientSecret, 'u'));
      return response;
    };
    const made = async (...wanted: Parameters<typeof create>): Promise<string> => {
      const { result, error } = await create(...wanted);
      assert.equal(error, null, error?.message);
      return (result as [string])[0];
    };
    const refused = async (...wanted: Parameters<typeof create>): Promise<CpiError> => {
      const former = await count();
      const { error } = await create(...wanted);
      assert.ok(error !== null);
      assert.equal(await count(), former);
      return error;
    };
    const count = async (): Promise<number> => (await world.api.list(pods, { namespace })).items.length;
    const isCounted = async (pod: string): Promise<boolean> => {
      const { metadata } = await world.api.get({ resource: pods, namespace, name: pod });
      return metadata.labels?.[label.disruptionBudget] === 'true';
    };

    test('a service counts for a budget, an errand does not', async () => {
      assert.equal(await isCounted(await made('web')), true);
      assert.equal(await isCounted(await made('smoke-tests')), false);
    });

    test('without a director: refused, and made where no budget is asked for', async () => {
      const error = await refused('web', { director: {} });
      assert.equal(error.type, 'Bosh::Clouds::NotSupported');
      assert.match(error.message, /set the property director of the CPI/u);
      await made('web', { director: {} }, {});
    });

    test('a director that is away: the error may be tried again', async () => {
      const away = { ...director.settings, url: `https://127.0.0.1:${await closedPort()}` };
      const error = await refused('web', { director: away, deadlines: { director: 1 } });
      assert.equal(error.type, 'Bosh::Clouds::VMCreationFailed');
      assert.equal(error.ok_to_retry, true);
      assert.match(error.message, /BOSH director at .* could not be asked: the connection was refused/u);
    });

    test('a certificate of another CA, one that cannot be read, or a wrong secret: not to be tried again', async () => {
      const { ca } = await createTestAuthority();
      for (const [changes, message] of [
        [{ ca }, /certificate cannot be verified/u],
        [{ ca: ca.slice(0, -100) }, /a certificate that cannot be read/u],
        [{ client_secret: `${clientSecret}x` }, /does not accept client 'cpi'/u],
      ] as const) {
        const error = await refused('web', { director: { ...director.settings, ...changes } });
        assert.equal(error.type, 'Bosh::Clouds::VMCreationFailed');
        assert.equal(error.ok_to_retry, false);
        assert.match(error.message, message);
      }
    });

    test('a director that does not go on with its answer: the call ends all the same', async (t) => {
      t.after(() => {
        director.onRequest = () => undefined;
      });
      director.onRequest = () => ({ status: 200, headers: { 'content-length': '1000' }, body: '{' });
      const error = await refused('web', { deadlines: { director: 1 } });
      assert.equal(error.ok_to_retry, true);
      assert.match(error.message, /no answer came in time/u);
    });

    test('an answer without end is cut off', async (t) => {
      t.after(() => {
        director.onRequest = () => undefined;
      });
      director.onRequest = () => ({ status: 200, body: 'x'.repeat(17 * 1024 * 1024) });
      assert.match((await refused('web')).message, /longer than 16 MiB/u);
    });
  });
}
