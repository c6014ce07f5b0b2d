import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile, readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '../platform/clock.ts';
import { procProcessTable } from './process/process-table.ts';
import { SpecFile } from './apply/spec.ts';
import type { AgentClient } from './testing/agent-client.ts';
import { helloJob } from './testing/hello-job.ts';
import { pidOf, reaches, specWith } from './testing/specs.ts';
import { TestVm } from './testing/test-vm.ts';

/** The agent as a process of its own, as on a VM. */
class AgentProcess {
  readonly child: ChildProcess;
  readonly client: AgentClient;

  private constructor(child: ChildProcess, client: AgentClient) {
    this.child = child;
    this.client = client;
  }

  static async start(vm: TestVm): Promise<AgentProcess> {
    const main = join(import.meta.dirname, 'main.ts');
    const child = spawn(process.execPath, [main, '-b', vm.directories.base], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const port = await new Promise<number>((resolve, reject) => {
      child.once('exit', () => reject(new Error('the agent ended before it listened')));
      child.stdout.on('data', (text: Buffer) => {
        const match = /listens on 127\.0\.0\.1:([0-9]+)/.exec(text.toString());
        if (match !== null) resolve(Number(match[1]));
      });
    });
    return new AgentProcess(child, vm.client(port));
  }

  async end(signal: NodeJS.Signals): Promise<number | null> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return this.child.exitCode;
    const exit = once(this.child, 'exit');
    this.child.kill(signal);
    await exit;
    return this.child.exitCode;
  }
}

const jobWith = (vm: TestVm, text: string): ReturnType<typeof helloJob> => ({
  ...helloJob(vm.directories),
  './hello/config/version': text,
});

test('an apply that is killed at any point leaves the old spec or the new one, and can be repeated', async (t) => {
  const vm = await TestVm.create();
  let agent = await AgentProcess.start(vm);
  t.after(async () => {
    await agent.end('SIGKILL');
    await vm.remove();
  });
  await agent.client.task('apply', await specWith(agent.client, jobWith(vm, '0')));
  for (let round = 1; round <= 6; round++) {
    const spec = await specWith(agent.client, jobWith(vm, String(round)));
    // The agent may die before it sends the response.
    const answer = agent.client.call('apply', spec).catch((error: unknown) => error);
    await systemClock.sleep(round * 4);
    await agent.end('SIGKILL');
    await answer;
    agent = await AgentProcess.start(vm);
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
  let agent = await AgentProcess.start(vm);
  t.after(async () => {
    await agent.end('SIGKILL');
    await vm.remove();
  });
  await agent.client.task('apply', await specWith(agent.client, jobWith(vm, '0')));
  await agent.client.value('start');
  await reaches(agent.client, 'running');
  const pid = await pidOf(vm, 'hello');
  assert.equal(await agent.end('SIGTERM'), 0);
  assert.notEqual(await procProcessTable.find(pid), undefined);
  agent = await AgentProcess.start(vm);
  await reaches(agent.client, 'running');
  assert.equal(await pidOf(vm, 'hello'), pid);
  await agent.client.task('stop');
  assert.ok(await readlink(join(vm.directories.jobs, 'hello')));
});
