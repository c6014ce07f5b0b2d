import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { scriptPath, findMountMismatch, formatPlan, writePlan, stageArguments } from './container-setup.ts';
import { toolEnvironment, withoutInheritedState } from '../command.ts';
import type { NodeLayout } from '../node-paths.ts';
import { readMountTable, type MountEntry } from '../../../src/platform/mountinfo.ts';
import { sourceOf } from '../mounts.ts';
import { safeRemove } from '../../../src/platform/safe-remove.ts';
import { rootMounts, type RootDirectories } from './container-fstab.ts';
import type {
  ContainerOutput,
  ContainerPlan,
  ContainerRuntime,
  PodNamespaces,
  RunningContainer,
} from './container-runtime.ts';
import { closeChildEnds, NamedPipes } from './named-pipes.ts';
import { NamespaceContainer } from './namespace-container.ts';
import { awaitStart } from './start-protocol.ts';
import { createPodNamespaces } from './user-namespace.ts';

/** The machine's properties, read once per run of the node. */
export interface RuntimeFacts {
  readonly directories: RootDirectories;
  /** Processes may change their groups here. */
  readonly setsGroups: boolean;
  /** The group of terminals, 5, exists here. */
  readonly terminalGroup: boolean;
}

const startDeadline = 30_000;

/** Runs containers as processes in namespaces, with programs that every Linux has. */
export class ProcessRuntime implements ContainerRuntime {
  readonly #layout: NodeLayout;
  readonly #facts: RuntimeFacts;
  readonly #pipes: NamedPipes;

  constructor(layout: NodeLayout, facts: RuntimeFacts) {
    this.#layout = layout;
    this.#facts = facts;
    this.#pipes = new NamedPipes(layout.plans);
  }

  createPodNamespaces(): Promise<PodNamespaces> {
    return createPodNamespaces();
  }

  async run(plan: ContainerPlan, output: ContainerOutput): Promise<RunningContainer> {
    const directory = join(this.#layout.plans, plan.id);
    const oldRoot = `.${randomBytes(16).toString('hex')}`;
    const table = await readMountTable();
    const files = formatPlan(plan, { rootMounts: this.#rootMounts(plan), table, oldRoot });
    try {
      await writePlan(directory, files);
      return await this.#start(plan, { directory, oldRoot, table, output });
    } finally {
      await safeRemove(directory);
    }
  }

  #rootMounts(plan: ContainerPlan): ReturnType<typeof rootMounts> {
    return rootMounts(this.#layout.root, this.#layout.host, this.#facts.directories, {
      nodePids: plan.nodePids,
      terminalGroup: this.#facts.terminalGroup,
    });
  }

  async #start(
    plan: ContainerPlan,
    run: { directory: string; oldRoot: string; table: readonly MountEntry[]; output: ContainerOutput },
  ): Promise<RunningContainer> {
    const { setsGroups } = this.#facts;
    const paths = {
      script: scriptPath('stage.sh'),
      plan: run.directory,
      image: this.#layout.image,
      root: this.#layout.root,
      oldRoot: run.oldRoot,
    };
    const [stdout, stderr] = await this.#pipes.acquire();
    const stage = stageArguments(plan, paths, setsGroups);
    const [program = '', ...args] = withoutInheritedState(stage, { first: 7, required: false }) ?? stage;
    const child = spawn(program, args, {
      stdio: [
        ...(['pipe', stdout.child, 'pipe', plan.namespaces?.user ?? 'ignore', 'pipe'] as const),
        ...([plan.namespaces?.ipc ?? 'ignore', stderr.child] as const),
      ],
      env: toolEnvironment,
    });
    closeChildEnds([stdout, stderr]);
    const drained = Promise.all([
      drain(stdout.stream, (chunk) => run.output.stdout(chunk)),
      drain(stderr.stream, (chunk) => run.output.stderr(chunk)),
    ]);
    const started = await awaitStart(child, {
      check: (pid) => checkMounts(plan, run.table, pid),
      deadline: AbortSignal.timeout(startDeadline),
    });
    return new NamespaceContainer(plan, {
      ...started,
      drained,
      clearGroups: setsGroups,
      scratch: this.#layout.plans,
      pipes: this.#pipes,
    });
  }
}

/** Rejects if the kernel's mounts in the container differ from the plan. */
async function checkMounts(plan: ContainerPlan, table: readonly MountEntry[], pid: number): Promise<void> {
  const expected = plan.mounts.map((mount) => ({
    target: mount.target,
    source: sourceOf(table, mount.source),
    readOnly: mount.readOnly,
  }));
  const mismatch = findMountMismatch(expected, await readMountTable(pid));
  if (mismatch !== undefined) {
    throw new Error(mismatch);
  }
}

async function drain(stream: Readable, consume: (chunk: Uint8Array) => void): Promise<void> {
  for await (const chunk of stream) {
    consume(chunk as Uint8Array);
  }
}
