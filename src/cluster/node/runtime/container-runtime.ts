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
  /** Capability names for setpriv(1); `undefined`: all of the user namespace. */
  readonly boundingSet: readonly string[] | undefined;
  readonly noNewPrivileges: boolean;
  readonly readOnlyRoot: boolean;
  readonly user: number;
  readonly group: number;
}

/** Descriptors of namespaces that all containers of a pod enter. */
export interface PodNamespaces {
  readonly user: number;
  readonly ipc: number;
}

/** Everything that a runtime has to know to run one container. */
export interface ContainerPlan extends ContainerCommand {
  /** Unique on this node, DNS-safe. */
  readonly id: string;
  readonly hostname: string;
  readonly workingDirectory: string;
  readonly mounts: readonly ContainerMount[];
  /** Small files of its own, by absolute path: /etc/hosts and the like. */
  readonly files: ReadonlyMap<string, string>;
  readonly security: ContainerSecurity;
  /** See and signal the processes of the whole node instead of the container's own. */
  readonly nodePids: boolean;
  /** The namespaces of its pod; `undefined`: the node's own user namespace, for Bidirectional mounts. */
  readonly namespaces: PodNamespaces | undefined;
}

export interface ContainerOutput {
  stdout(chunk: Uint8Array): void;
  stderr(chunk: Uint8Array): void;
}

/** How it ended: 128 + n after signal n, as kubelet reports it. */
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
  /** Pid of its first process as the node sees it. */
  readonly pid: number;
  /** Never rejects; settles when every process of the container is gone and its output is delivered. */
  readonly exited: Promise<ContainerExit>;
  /** Signals the command; nothing happens once it has ended. */
  signal(name: NodeJS.Signals): void;
  /** SIGKILL to every process of the container. */
  kill(): Promise<void>;
  exec(command: ContainerCommand, options: { readonly stdin: boolean }): Promise<ContainerProcess>;
}

/** Starts containers. `process-runtime.ts` runs them as processes in namespaces. */
export interface ContainerRuntime {
  /** Resolves once the command runs; rejects, with nothing left over, with the reason in one line. */
  run(plan: ContainerPlan, output: ContainerOutput): Promise<RunningContainer>;
  /** Namespaces in which containers hold rights over nothing but themselves. Close them after use. */
  createPodNamespaces(): Promise<PodNamespaces>;
}
