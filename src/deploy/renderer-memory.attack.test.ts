import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { packRelease } from '../bosh/release/pack-release.ts';
import { errorChain } from '../platform/error-chain.ts';
import { createEnv } from './create-env.ts';
import { testEnvironment } from './testing/test-environment.ts';

test("a job's template cannot read the CPI's properties in the memory of ruby", async (t) => {
  const { options, ports, directory, editManifest } = await testEnvironment(t);
  await editManifest((text) =>
    text.replace('{runtime: ', '{kubeconfig: operators-kubeconfig-4711, runtime: '),
  );
  await writeFile(
    join(directory, 'tinyapp/jobs/app/templates/config.erb'),
    '<% found = ObjectSpace.each_object(String).grep(/operators-kubeconfig-[0-9]/); raise(found.empty? ? "found none" : "found some") %>',
  );

  const app = { directory: join(directory, 'tinyapp'), outFile: join(directory, 'tinyapp.tgz') };
  await packRelease({ ...app, version: '2' });

  await assert.rejects(createEnv(options, ports), (error) => {
    assert.match(errorChain(error).join('\n'), /found none/);
    return true;
  });
});
