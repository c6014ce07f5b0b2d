import type { OnBytes } from '../../platform/live-progress.ts';
import type { JsonObject } from '../../platform/json.ts';

/** A blob in the agent's blobstore, or a package that is stored as one. */
export interface BlobReference {
  readonly name: string;
  readonly version: string;
  /** Digest text. */
  readonly sha1: string;
  readonly blobstoreId: string;
}

/** A process that is not up. */
export interface FailedProcess {
  readonly name: string;
  readonly job: string | undefined;
  readonly state: string;
  /** The reason why it is not up. */
  readonly problem: string | undefined;
  /** How its start program ended. */
  readonly lastExit: string | undefined;
  /** The last lines of its programs' output. */
  readonly output: string;
}

export interface AgentState {
  /** The agent id that create_vm got. Absent if the agent does not report it. */
  readonly agentId?: string;
  readonly jobState: string;
  /** The processes that are not up. Only our own agent reports them. */
  readonly failedProcesses: readonly FailedProcess[];
  /** The addresses by network name. Undefined if the agent does not know the address. */
  readonly addresses: Readonly<Record<string, string | undefined>>;
}

/** The address and the host key for an SSH session. */
export interface SshLogin {
  /** An IP address. */
  readonly address: string;
  /** The public key of the VM's sshd, as in a line of known_hosts. */
  readonly hostKey: string;
}

/** An archive of logs in the VM. */
export interface LogBundle {
  readonly path: string;
  /** Hex. */
  readonly sha512: string;
}

/**
 * The agent's methods over its HTTPS mbus. Every method resolves when its task has ended. Rejects with
 * AGENT_UNREACHABLE if the agent does not respond; DEADLINE if a task does not end (in 24 h for scripts,
 * drain, stop, compilation and migration, in 1 h for the others); AGENT_UNTRUSTED, without a retry, if the
 * certificate or the credentials are rejected; AGENT_ERROR if the agent returns an error. No error contains
 * the credentials.
 */
export interface AgentClient {
  ping(): Promise<void>;
  getState(): Promise<AgentState>;
  apply(spec: JsonObject): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Runs a script. Succeeds if no job has the script or if the agent does not know run_script. */
  runScript(name: string): Promise<void>;
  /** Returns the seconds that are still to wait. */
  drain(): Promise<number>;
  compilePackage(
    source: BlobReference,
    dependencies: readonly BlobReference[],
  ): Promise<{ blobstoreId: string; sha1: string }>;
  listDisks(): Promise<readonly string[]>;
  addPersistentDisk(cid: string, hint: unknown): Promise<void>;
  removePersistentDisk(cid: string): Promise<void>;
  mountDisk(cid: string): Promise<void>;
  unmountDisk(cid: string): Promise<void>;
  migrateDisk(): Promise<void>;
  /** Uploads a file to the agent's blobstore and returns its blob id. */
  putBlob(path: string, onBytes?: OnBytes): Promise<string>;
  /** Downloads a blob. The file appears complete or not at all. */
  getBlob(blobstoreId: string, path: string): Promise<void>;
  /** Creates an account `bosh_…` in the VM with one login key. */
  setUpSsh(user: string, publicKey: string): Promise<SshLogin>;
  /** Removes that account. Succeeds if it does not exist. */
  cleanUpSsh(user: string): Promise<void>;
  /**
   * Packs logs so that the account can copy them. `types` are `job`, `agent` and `system`. Without filters
   * all files are packed.
   */
  bundleLogs(user: string, types: readonly string[], filters: readonly string[]): Promise<LogBundle>;
  /**
   * Packs logs into a blob, and returns its id for getBlob. `types` are `job`, `agent` and `system`; filters
   * are globs relative to the log directory.
   */
  fetchLogs(types: readonly string[], filters: readonly string[]): Promise<string>;
  /** Removes a bundle. Succeeds if it does not exist. */
  removeFile(path: string): Promise<void>;
}
