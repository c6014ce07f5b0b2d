import type { Readable, Writable } from 'node:stream';
import type { ContainerCommand } from './command-file.ts';

export interface ContainerMount {
  /** Absolute path in the node's mount namespace. */
  readonly source: string;
  /** Absolute path in the container. */
  readonly target: string;
  readonly kind: 'directory' | 'file';
  readonly readOnly: boolean;
  readonly propagation: 'None' | 'HostToContainer' | 'Bidirectional';
}

export interface ContainerSecurity {
  /** Capability names for setpriv(1); `undefined` means all of the user namespace. */
  readonly boundingSet: readonly string[] | undefined;
  readonly noNewPrivileges: boolean;
  readonly readOnlyRoot: boolean;
  readonly user: number;
  readonly group: number;
}

/** Descriptors of the namespaces that all containers of a pod enter. */
export interface PodNamespaces {
  readonly user: number;
  readonly ipc: number;
}

/** All data that a runtime needs to run one container. */
export interface ContainerPlan extends ContainerCommand {
  /** Unique on this node, DNS-safe. */
  readonly id: string;
  readonly hostname: string;
  readonly workingDirectory: string;
  readonly mounts: readonly ContainerMount[];
  /** Small files of this container, by absolute path, for example /etc/hosts. */
  readonly files: ReadonlyMap<string, string>;
  readonly security: ContainerSecurity;
  /** The container sees and can signal the processes of the whole node instead of only its own. */
  readonly nodePids: boolean;
  /** The namespaces of its pod; `undefined` means the node's own user namespace, for Bidirectional mounts. */
  readonly namespaces: PodNamespaces | undefined;
}

export interface ContainerOutput {
  stdout(chunk: Uint8Array): void;
  stderr(chunk: Uint8Array): void;
}

/** The exit of a process: 128 + n after signal n, as kubelet reports it. */
export interface ContainerExit {
  readonly exitCode: number;
}

export interface ContainerProcess {
  readonly stdin: Writable | undefined;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Never rejects. */
  readonly exited: Promise<ContainerExit>;
  kill(): void;
}

export interface RunningContainer {
  readonly id: string;
  /** The pid of its first process as the node sees it. */
  readonly pid: number;
  /** Never rejects; resolves when every process of the container has ended and its output is delivered. */
  readonly exited: Promise<ContainerExit>;
  /** Signals the command. Does nothing after it has ended. */
  signal(name: NodeJS.Signals): void;
  /** Sends SIGKILL to every process of the container. */
  kill(): Promise<void>;
  exec(command: ContainerCommand, options: { readonly stdin: boolean }): Promise<ContainerProcess>;
}

/** Starts containers. `process-runtime.ts` runs them as processes in namespaces. */
export interface ContainerRuntime {
  /**
   * Resolves when the command runs. On failure it leaves nothing behind and rejects with the reason in one
   * line.
   */
  run(plan: ContainerPlan, output: ContainerOutput): Promise<RunningContainer>;
  /** Creates namespaces in which containers have rights only over themselves. Close them after use. */
  createPodNamespaces(): Promise<PodNamespaces>;
}
