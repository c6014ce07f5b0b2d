import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, fchmodSync, openSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withPath } from '../../../src/platform/write-file.ts';
import { systemClock } from '../../../src/platform/clock.ts';
import { toolEnvironment, withoutInheritedState } from '../command.ts';
import { formatCommandFile, type ContainerCommand } from './command-file.ts';
import type {
  ContainerExit,
  ContainerPlan,
  ContainerProcess,
  RunningContainer,
} from './container-runtime.ts';
import {
  type NamespaceHandle,
  openMountNamespace,
  killNamespace,
  mountNamespaceOf,
  sendSignal,
} from './kill-namespace.ts';
import { type NamedPipes, closeChildEnds } from './named-pipes.ts';
import { execArguments } from './container-setup.ts';
import { execExit, type StartedCommand } from './start-protocol.ts';

export interface StartedProcess extends StartedCommand {
  /** Resolves when all output was consumed. */
  readonly drained: Promise<unknown>;
  readonly clearGroups: boolean;
  /** Directory for the short-lived files of an exec. */
  readonly scratch: string;
  readonly pipes: NamedPipes;
}

/**
 * Opens the mount namespace of this process, unless it is the node's own, whose processes must never be
 * killed together.
 */
function isOtherNamespace(pid: number): NamespaceHandle | undefined {
  const namespace = openMountNamespace(pid);
  if (namespace === undefined || namespace.name !== mountNamespaceOf(process.pid)) return namespace;
  namespace.release();
  return undefined;
}

/** A container whose command runs. */
export class NamespaceContainer implements RunningContainer {
  readonly id: string;
  readonly pid: number;
  readonly exited: Promise<ContainerExit>;
  readonly #plan: ContainerPlan;
  readonly #process: StartedProcess;
  readonly #mountNamespace: NamespaceHandle | undefined;
  #ended = false;

  constructor(plan: ContainerPlan, started: StartedProcess) {
    this.id = plan.id;
    this.pid = started.pid;
    this.#plan = plan;
    this.#process = started;
    this.#mountNamespace = plan.nodePids ? isOtherNamespace(started.pid) : undefined;
    this.exited = this.#end();
  }

  signal(name: NodeJS.Signals): void {
    if (!this.#ended) {
      sendSignal(this.pid, name);
    }
  }

  async kill(): Promise<void> {
    if (this.#ended) {
      return;
    }
    if (!this.#plan.nodePids) {
      // When the first process of a pid namespace dies, the kernel kills all others (pid_namespaces(7)).
      sendSignal(this.pid, 'SIGKILL');
    }
    await this.#killRemaining();
    await this.exited;
  }

  async exec(command: ContainerCommand, options: { readonly stdin: boolean }): Promise<ContainerProcess> {
    if (this.#ended) {
      throw new Error(`container ${this.id} has ended`);
    }
    const [stdout, stderr] = await this.#process.pipes.acquire();
    const name = `${this.id}-exec-${randomBytes(6).toString('hex')}`;
    const commandFile = join(this.#process.scratch, name);
    try {
      writeFileSync(commandFile, formatCommandFile(command), { mode: 0o600 });
    } catch (error) {
      throw withPath(commandFile, error);
    }
    const commandEnd = openSync(commandFile, 'r');
    // The container's user may read the file through this descriptor.
    fchmodSync(commandEnd, 0o644);
    unlinkSync(commandFile);
    const enter = execArguments(this.#plan, this.pid, this.#process.clearGroups);
    const [program = '', ...args] = withoutInheritedState(enter, { first: 6, required: false }) ?? enter;
    const child = spawn(program, args, {
      stdio: [options.stdin ? 'pipe' : 'ignore', stdout.child, stderr.child, 'ignore', 'pipe', commandEnd],
      env: toolEnvironment,
    });
    closeChildEnds([stdout, stderr]);
    closeSync(commandEnd);
    return {
      stdin: child.stdin ?? undefined,
      stdout: stdout.stream,
      stderr: stderr.stream,
      exited: execExit(child),
      kill: () => void child.kill('SIGKILL'),
    };
  }

  async #end(): Promise<ContainerExit> {
    const exit = await this.#process.exited;
    await this.#killRemaining();
    this.#ended = true;
    this.#mountNamespace?.release();
    await this.#process.drained;
    return exit;
  }

  async #killRemaining(): Promise<void> {
    if (this.#mountNamespace !== undefined && !this.#ended) {
      await killNamespace(this.#mountNamespace.name, () => systemClock.sleep(5));
    }
  }
}
