import assert from 'node:assert/strict';
import { readFile, readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '../platform/clock.ts';
import { procProcessTable } from './process/process-table.ts';
import { SpecFile } from './apply/spec.ts';
import type { AgentClient } from './testing/agent-client.ts';
import { agentFromSources, AgentProcess } from './testing/agent-process.ts';
import { helloJob } from './testing/hello-job.ts';
import { pidOf, reaches, specWith } from './testing/specs.ts';
import { TestVm } from './testing/test-vm.ts';

/** Starts the agent and waits until it listens. */
async function startAgent(
  vm: TestVm,
): Promise<{ readonly process: AgentProcess; readonly client: AgentClient }> {
  const process = AgentProcess.spawn([...agentFromSources, '-b', vm.directories.base]);
  const [, port] = await process.logged(/listens on 127\.0\.0\.1:([0-9]+)/u);
  return { process, client: vm.client(Number(port)) };
}

const jobWith = (vm: TestVm, text: string): ReturnType<typeof helloJob> => ({
  ...helloJob(vm.directories),
  './hello/config/version': text,
});

test('an apply that is killed at any point leaves the old spec or the new one, and can be repeated', async (t) => {
  const vm = await TestVm.create();
  let agent = await startAgent(vm);
  t.after(async () => {
    await agent.process.end('SIGKILL');
    await vm.remove();
  });
  await agent.client.task('apply', await specWith(agent.client, jobWith(vm, '0')));
  for (let round = 1; round <= 6; round++) {
    const spec = await specWith(agent.client, jobWith(vm, String(round)));
    // The agent may die before it sends the response.
    const answer = agent.client.call('apply', spec).catch((error: unknown) => error);
    await systemClock.sleep(round * 4);
    await agent.process.end('SIGKILL');
    await answer;
    agent = await startAgent(vm);
    const version = await readFile(join(vm.directories.jobs, 'hello/config/version'), 'utf8');
    assert.ok([String(round - 1), String(round)].includes(version), `version ${version} in round ${round}`);
    const recorded = await new SpecFile(vm.directories).read();
    const { digest } = recorded.renderedTemplates ?? { digest: '' };
    assert.equal(
      digest === (spec as { rendered_templates_archive: { sha1: string } }).rendered_templates_archive.sha1,
      version === String(round),
    );
    await agent.client.task('apply', await specWith(agent.client, jobWith(vm, String(round))));
    assert.equal(await readFile(join(vm.directories.jobs, 'hello/config/version'), 'utf8'), String(round));
    assert.equal((await readdir(join(vm.directories.dataJobs, 'hello'))).length, 1);
  }
});

test('the agent ends at SIGTERM, its jobs keep running, and the next agent recognises them', async (t) => {
  const vm = await TestVm.create();
  let agent = await startAgent(vm);
  t.after(async () => {
    await agent.process.end('SIGKILL');
    await vm.remove();
  });
  await agent.client.task('apply', await specWith(agent.client, jobWith(vm, '0')));
  await agent.client.value('start');
  await reaches(agent.client, 'running');
  const pid = await pidOf(vm, 'hello');
  assert.equal(await agent.process.end('SIGTERM'), 0);
  assert.notEqual(await procProcessTable.find(pid), undefined);
  agent = await startAgent(vm);
  await reaches(agent.client, 'running');
  assert.equal(await pidOf(vm, 'hello'), pid);
  await agent.client.task('stop');
  assert.ok(await readlink(join(vm.directories.jobs, 'hello')));
});
