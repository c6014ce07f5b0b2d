import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { createAgentClient } from '../bosh/agent-client/create-agent-client.ts';
import { systemClock } from '../platform/clock.ts';
import { extractArchive } from './file/archive.ts';
import { makeArchive, sha256 } from './testing/archives.ts';
import { eventually } from './testing/eventually.ts';
import { helloJob } from './testing/hello-job.ts';
import { emptySpec } from './testing/specs.ts';
import { TestVm } from './testing/test-vm.ts';

test("the deployer's client compiles, applies, starts and stops", async (t) => {
  const vm = await TestVm.create();
  t.after(() => vm.remove());
  await vm.start();
  const { base } = vm.directories;
  const client = createAgentClient({
    mbusUrl: vm.mbusUrl,
    ca: vm.ca,
    directorId: 'director',
    clock: systemClock,
  });
  await client.ping();

  const source = await makeArchive({ './packaging': 'echo built > $BOSH_INSTALL_TARGET/built\n' });
  await writeFile(join(base, 'source.tgz'), source);
  const blobstoreId = await client.putBlob(join(base, 'source.tgz'));
  const reference = { name: 'tool', version: 'fp', sha1: sha256(source), blobstoreId };
  const compiled = await client.compilePackage(reference, []);
  await client.getBlob(compiled.blobstoreId, join(base, 'compiled.tgz'));
  await mkdir(join(base, 'compiled'));
  await extractArchive(join(base, 'compiled.tgz'), join(base, 'compiled'));
  assert.equal(await readFile(join(base, 'compiled/built'), 'utf8'), 'built\n');

  const rendered = await makeArchive(helloJob(vm.directories));
  await writeFile(join(base, 'rendered.tgz'), rendered);
  const tool = { name: 'tool', version: 'fp', sha1: compiled.sha1, blobstore_id: compiled.blobstoreId };
  await client.stop();
  await client.apply({
    ...emptySpec,
    packages: { tool },
    job: { name: 'hello', templates: [{ name: 'hello', version: 'fp', sha1: '', blobstore_id: '' }] },
    rendered_templates_archive: {
      blobstore_id: await client.putBlob(join(base, 'rendered.tgz')),
      sha1: sha256(rendered),
    },
  });
  await client.runScript('pre-start');
  await client.start();
  const state = await eventually('a state that is not starting', async () => {
    const now = await client.getState();
    return now.jobState === 'starting' ? undefined : now;
  });
  assert.deepEqual(state, {
    agentId: 'agent-1',
    jobState: 'running',
    addresses: { default: '127.0.0.1' },
    failedProcesses: [],
  });
  await client.runScript('pre-stop');
  assert.equal(await client.drain(), 0);
  await client.stop();
  assert.deepEqual(await client.listDisks(), []);
  await assert.rejects(client.mountDisk('disk-1'), /could not be found/);
});
