import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { scratchDirectory } from '../../src/bosh/testing/scratch.ts';
import {
  dockerRegistryIsMissing,
  startDockerRegistry,
} from '../../src/oci/registry/testing/docker-registry.ts';
import { writeLargeRoot } from '../../src/oci/testing/large-root.ts';
import { PeakMemory } from '../../src/oci/testing/peak-memory.ts';
import { call, isMissing } from './artefact.ts';
import { CpiWorld } from './cpi-world.ts';

/** The allowed memory in KiB. */
const limit = 150 * 1024;

let world: CpiWorld;

before(async () => {
  world = await CpiWorld.start();
});
after(() => world.stop());

for (const name of ['executable', 'bundle'] as const) {
  describe(`a root file system of 600 MB, pushed by the CPI's ${name}`, { skip: isMissing(name) }, () => {
    test('takes less than 150 MB of memory', { skip: dockerRegistryIsMissing() }, async (t) => {
      const artefact = world.artefacts.get(name);
      assert.ok(artefact !== undefined);
      const { origin, ca, credentials } = await startDockerRegistry(t, {
        ...{ authentication: 'basic', deletes: true },
      });
      const imagePath = join(await scratchDirectory(t), 'image');
      await writeLargeRoot(imagePath, 600);
      const registry = { url: origin, ca, repository: 'bosh/stemcells', ...credentials };
      const memory = new PeakMemory();
      const request = {
        ...{ method: 'create_stemcell', arguments: [imagePath, { name: 'large' }], api_version: 2 },
        context: { director_uuid: 'd', registry },
      };
      const { error, log } = await call(artefact, request, {
        config: world.config,
        onStart: (child) => memory.watch(child),
      });
      assert.equal(error, null, error?.message);
      assert.match(log, /: uploaded/u);
      const peak = await memory.end();
      t.diagnostic(`peak: ${Math.round(peak / 1024)} MB of resident memory`);
      assert.ok(peak > 10_000, 'it was measured');
      assert.ok(peak < limit, `${peak} KiB`);
    });
  });
}
