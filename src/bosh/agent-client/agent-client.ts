type Json = Readonly<Record<string, unknown>>;

export interface AgentClock {
  /** Resolves after that many milliseconds, or at once when the signal is aborted. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

/** A blob in the agent's blobstore, or a package by it. */
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
  /** Why it is not up. */
  readonly problem: string | undefined;
  /** How its start program ended. */
  readonly lastExit: string | undefined;
  /** The last lines that its programs printed. */
  readonly output: string;
}

export interface AgentState {
  /** Whose agent it is: the id that create_vm got. Absent where it does not say. */
  readonly agentId?: string;
  readonly jobState: string;
  /** Those that are not up, where the agent is one of ours and says so. */
  readonly failedProcesses: readonly FailedProcess[];
  /** By network name; undefined where the agent knows none. */
  readonly addresses: Readonly<Record<string, string | undefined>>;
}

/** Where the account of an SSH session is. */
export interface SshLogin {
  /** An IP address. */
  readonly address: string;
  /** Of the VM's sshd, as in a line of known_hosts. */
  readonly hostKey: string;
}

/** An archive of logs in the VM. */
export interface LogBundle {
  readonly path: string;
  /** Hex. */
  readonly sha512: string;
}

/**
 * The agent's verbs over its HTTPS mbus. Every verb resolves when its task has ended. Rejects with AGENT_UNREACHABLE when
 * nobody answers, DEADLINE when a task does not end (24 h for scripts, drain, stop, compilation and migration, 1 h for the rest), AGENT_UNTRUSTED at once when the certificate or the credentials are refused, AGENT_ERROR when the agent
 * says no. No error holds the credentials.
 */
export interface AgentClient {
  ping(): Promise<void>;
  getState(): Promise<AgentState>;
  apply(spec: Json): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
  /** A script that no job has, or an agent that knows no scripts, is fine. */
  runScript(name: string): Promise<void>;
  /** Resolves with the seconds still to wait. */
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
  /** Uploads a file into the agent's blobstore; resolves with its blob id. */
  putBlob(path: string): Promise<string>;
  /** Downloads a blob; the file appears whole or not at all. */
  getBlob(blobstoreId: string, path: string): Promise<void>;
  /** Makes an account `bosh_…` in the VM that one key logs in to. */
  setUpSsh(user: string, publicKey: string): Promise<SshLogin>;
  /** Removes that account; one that is not there is fine. */
  cleanUpSsh(user: string): Promise<void>;
  /** Packs logs for that account to copy; `types` are `job`, `agent`, `system`, without filters all files. */
  bundleLogs(user: string, types: readonly string[], filters: readonly string[]): Promise<LogBundle>;
  /** Removes a bundle; one that is not there is fine. */
  removeFile(path: string): Promise<void>;
}
