import assert from 'node:assert/strict';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { runCommand } from '../../command.ts';
import { prepareHost } from '../../host-root/prepare-host.ts';
import { nodeLayout, type NodeLayout } from '../../node-paths.ts';
import { mountsAtOrBelow, readMountTable } from '../../../../src/platform/mountinfo.ts';
import { safeRemove } from '../../../../src/platform/safe-remove.ts';
import { namespaceMode } from '../../testing/in-namespace.ts';
import { boundingSet } from '../capabilities.ts';
import type { ContainerPlan, PodNamespaces, RunningContainer } from '../container-runtime.ts';
import { ProcessRuntime } from '../process-runtime.ts';
import { closeNamespaces } from '../user-namespace.ts';

interface Result {
  readonly exitCode: number;
  /** The output of both streams. */
  readonly output: string;
}

/** The rights of a privileged container. */
export const privileged = {
  boundingSet: undefined,
  noNewPrivileges: false,
  readOnlyRoot: false,
  user: 0,
  group: 0,
};

/** Sets up a runtime with a prepared host, and its containers, for the tests of one file. */
export function runtimeWorld(): RuntimeWorld {
  const world = new RuntimeWorld();
  before(() => world.open());
  after(() => world.close());
  return world;
}

/** See runtimeWorld. */
export class RuntimeWorld {
  #directory = '';
  #runtime: ProcessRuntime | undefined;
  #namespaces: PodNamespaces | undefined;
  #counter = 0;

  get directory(): string {
    return this.#directory;
  }

  get layout(): NodeLayout {
    return nodeLayout(this.directory);
  }

  async open(): Promise<void> {
    this.#directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-runtime-'));
    await mkdir(this.layout.kubelet, { recursive: true });
    const runtimeDirectory = join(this.directory, 'runtime');
    await mkdir(runtimeDirectory);
    await writeFile(join(runtimeDirectory, 'agent.cjs'), '// agent');
    const directories = await prepareHost(this.layout, runtimeDirectory);
    const all = namespaceMode === 'root';
    this.#runtime = new ProcessRuntime(this.layout, { directories, setsGroups: all, terminalGroup: all });
    this.#namespaces = await this.#runtime.createPodNamespaces();
  }

  async close(): Promise<void> {
    if (this.#namespaces !== undefined) closeNamespaces(this.#namespaces);
    for (;;) {
      const [entry] = mountsAtOrBelow(await readMountTable(), this.directory);
      if (entry === undefined) break;
      assert.equal((await runCommand('umount', ['--lazy', entry.target])).exitCode, 0);
    }
    await safeRemove(this.directory);
  }

  plan(command: readonly string[], changes: Partial<ContainerPlan> = {}): ContainerPlan {
    return {
      id: `test-${(this.#counter += 1)}`,
      hostname: 'vm-1',
      command,
      environment: new Map([['PATH', '/usr/sbin:/usr/bin:/sbin:/bin']]),
      workingDirectory: '/',
      mounts: [],
      files: new Map([['/etc/hosts', '127.0.0.1 localhost\n']]),
      security: {
        boundingSet: boundingSet({ privileged: false, ownUserNamespace: true, add: [], drop: [] }),
        noNewPrivileges: false,
        readOnlyRoot: false,
        user: 0,
        group: 0,
      },
      nodePids: false,
      namespaces: this.#namespaces,
      ...changes,
    };
  }

  async start(plan: ContainerPlan): Promise<RunningContainer & { output(): string }> {
    if (this.#runtime === undefined) throw new Error('there is no runtime yet');
    const chunks: Uint8Array[] = [];
    const consume = (chunk: Uint8Array): void => void chunks.push(chunk);
    const container = await this.#runtime.run(plan, { stdout: consume, stderr: consume });
    return Object.assign(container, { output: () => Buffer.concat(chunks).toString() });
  }

  async result(plan: ContainerPlan): Promise<Result> {
    const container = await this.start(plan);
    const { exitCode } = await container.exited;
    return { exitCode, output: container.output() };
  }

  shell(script: string, changes: Partial<ContainerPlan> = {}): Promise<Result> {
    return this.result(this.plan(['/bin/sh', '-c', script], changes));
  }
}

/** Polls until the condition is true. After a minute it fails with the text of `describe`. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  describe = (): string => '',
): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (!(await condition())) {
    assert.ok(Date.now() < deadline, `waited 60 s for ${condition.toString()} ${describe()}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
