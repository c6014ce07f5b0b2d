import type { OnBytes } from '../../platform/live-progress.ts';
import type { Clock } from '../../platform/clock.ts';
import { randomUUID } from 'node:crypto';
import { isProductError } from '../../errors/product-error.ts';
import { truncateAtWord, dropFirstWord } from '../../errors/text.ts';
import type {
  AgentClient,
  AgentState,
  BlobReference,
  FailedProcess,
  LogBundle,
  SshLogin,
} from './agent-client.ts';
import { AgentBlobs } from './agent-blobs.ts';
import { AgentTasks } from './agent-tasks.ts';
import { MbusConnection } from './mbus-connection.ts';
import type { Socks5Proxy } from './socks5-connect.ts';
import { isIP } from 'node:net';
import { isObject, type JsonObject } from '../../platform/json.ts';
import { isPublicKey } from '../ssh-user.ts';

export interface AgentClientOptions {
  /** `https://user:password@host:port`. http is allowed only for a loopback address. */
  readonly mbusUrl: string;
  /** PEM of the CA that signed the agent's certificate. The system's roots by default. */
  readonly ca?: string | undefined;
  /** The `reply_to` of every request. */
  readonly directorId: string;
  readonly clock: Pick<Clock, 'sleep'>;
  /** Makes the ids of the blobs that putBlob creates; crypto.randomUUID by default. */
  readonly uuid?: (() => string) | undefined;
  /** Aborts every wait with INTERRUPTED. */
  readonly signal?: AbortSignal | undefined;
  /** The proxy to the agent; without one the connection is direct. */
  readonly proxy?: Socks5Proxy | undefined;
  /** The maximum size of a downloaded blob in bytes; archiveLimits.total by default. */
  readonly maxBlobBytes?: number | undefined;
  /** Makes the signals that end tasks with DEADLINE; AbortSignal.timeout by default. */
  readonly timeout?: ((milliseconds: number) => AbortSignal) | undefined;
}

/**
 * Timeouts in milliseconds. `ping` checks if the agent responds now. During `start` the agent waits for its
 * supervisor.
 */
const pingTimeoutMs = 5000;
const startTimeoutMs = 600_000;
/** The agent packs all logs before it responds. */
const bundleTimeoutMs = 600_000;
/**
 * The scripts and the compilation of a release, and copying disks, may take a day. Every other task has an
 * hour.
 */
const longTaskOptions = { deadline: 24 * 3_600_000 };

/** Disks are unmounted one after another. No VM has this many. */
const maxDisks = 128;

const abortAfter = (milliseconds: number): AbortSignal => AbortSignal.timeout(milliseconds);

/** Creates a client of one agent. Throws INVALID_ARGUMENT if the URL is invalid. Does not connect yet. */
export const createAgentClient = (options: AgentClientOptions): AgentClient => new MbusAgentClient(options);

class MbusAgentClient implements AgentClient {
  readonly #tasks: AgentTasks;
  readonly #blobs: AgentBlobs;
  readonly #uuid: () => string;

  constructor(options: AgentClientOptions) {
    const { clock, directorId, signal, uuid = randomUUID, timeout = abortAfter } = options;
    const connection = new MbusConnection(options);
    this.#tasks = new AgentTasks({ connection, directorId, clock, signal, timeout });
    this.#blobs = new AgentBlobs(connection, clock, options.maxBlobBytes);
    this.#uuid = uuid;
  }

  async ping(): Promise<void> {
    const value = await this.#tasks.call('ping', [], { idleTimeoutMs: pingTimeoutMs });
    if (value !== 'pong') throw this.#tasks.unexpected('ping', "'pong'");
  }

  async getState(): Promise<AgentState> {
    return parseState(await this.#tasks.callWithRetry('get_state', []), this.#tasks);
  }

  async apply(spec: JsonObject): Promise<void> {
    await this.#tasks.runTask('apply', [spec]);
  }

  async start(): Promise<void> {
    const value = await this.#tasks.runTask('start', [], { idleTimeoutMs: startTimeoutMs });
    if (value !== 'started') throw this.#tasks.unexpected('start', "'started'");
  }

  async stop(): Promise<void> {
    await this.#tasks.runTask('stop', [], longTaskOptions);
  }

  async runScript(name: string): Promise<void> {
    await ignoreUnknownMethod(this.#tasks.runTask('run_script', [name, { env: {} }], longTaskOptions));
  }

  async drain(): Promise<number> {
    const seconds = await this.#tasks.runTask('drain', ['shutdown', {}], longTaskOptions);
    if (typeof seconds !== 'number') throw this.#tasks.unexpected('drain', 'a number of seconds');
    return seconds;
  }

  async compilePackage(
    source: BlobReference,
    dependencies: readonly BlobReference[],
  ): Promise<{ blobstoreId: string; sha1: string }> {
    const byName = Object.fromEntries(
      dependencies.map(({ name, version, sha1, blobstoreId }) => [
        name,
        { name, version, sha1, blobstore_id: blobstoreId },
      ]),
    );
    const args = [source.blobstoreId, source.sha1, source.name, source.version, byName];
    const value = await this.#tasks.runTask('compile_package', args, longTaskOptions);
    return parseCompiledPackage(value, this.#tasks);
  }

  async listDisks(): Promise<readonly string[]> {
    return parseDisks(await this.#tasks.runTask('list_disk', []), this.#tasks);
  }

  async addPersistentDisk(cid: string, hint: unknown): Promise<void> {
    await ignoreUnknownMethod(this.#tasks.runTask('add_persistent_disk', [cid, hint]));
  }

  async removePersistentDisk(cid: string): Promise<void> {
    await ignoreUnknownMethod(this.#tasks.runTask('remove_persistent_disk', [cid]));
  }

  async mountDisk(cid: string): Promise<void> {
    await this.#tasks.runTask('mount_disk', [cid]);
  }

  async unmountDisk(cid: string): Promise<void> {
    await this.#tasks.runTask('unmount_disk', [cid]);
  }

  async migrateDisk(): Promise<void> {
    await this.#tasks.runTask('migrate_disk', [], longTaskOptions);
  }

  async putBlob(path: string, onBytes?: OnBytes): Promise<string> {
    const id = this.#uuid();
    await this.#blobs.put(id, path, onBytes);
    return id;
  }

  async getBlob(blobstoreId: string, path: string): Promise<void> {
    await this.#blobs.get(blobstoreId, path);
  }

  async setUpSsh(user: string, publicKey: string): Promise<SshLogin> {
    const value = await this.#tasks.call('ssh', ['setup', { user, public_key: publicKey }]);
    return parseSshLogin(value, this.#tasks);
  }

  async cleanUpSsh(user: string): Promise<void> {
    await this.#tasks.call('ssh', ['cleanup', { user_regex: `^${user}` }]);
  }

  async bundleLogs(user: string, types: readonly string[], filters: readonly string[]): Promise<LogBundle> {
    const request = { owning_user: user, log_type: types.join(','), filters };
    const value = await this.#tasks.call('bundle_logs', [request], { idleTimeoutMs: bundleTimeoutMs });
    return parseLogBundle(value, this.#tasks);
  }

  async fetchLogs(types: readonly string[], filters: readonly string[]): Promise<string> {
    const value = await this.#tasks.runTask('fetch_logs', [types.join(','), filters]);
    const { blobstore_id: id } = objectOf(value);
    if (typeof id === 'string' && id !== '') return id;
    throw this.#tasks.unexpected('fetch_logs', 'a blobstore_id');
  }

  async removeFile(path: string): Promise<void> {
    await this.#tasks.call('remove_file', [path]);
  }
}

/**
 * Ignores a method that an older agent does not know: such agents work without it (bosh-agent:
 * agentclient/http/agent_client.go).
 */
async function ignoreUnknownMethod(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!isProductError(error, 'AGENT_ERROR') || !error.message.includes('unknown message')) throw error;
  }
}

function parseCompiledPackage(value: unknown, tasks: AgentTasks): { blobstoreId: string; sha1: string } {
  const { blobstore_id: blobstoreId, sha1 } = objectOf(objectOf(value)['result']);
  if (typeof blobstoreId === 'string' && typeof sha1 === 'string') return { blobstoreId, sha1 };
  throw tasks.unexpected('compile_package', 'a result with blobstore_id and sha1');
}

function parseState(value: unknown, tasks: AgentTasks): AgentState {
  const { job_state: jobState, agent_id: agentId, networks, processes } = objectOf(value);
  if (typeof jobState !== 'string') throw tasks.unexpected('get_state', 'a state with job_state');
  const addresses = Object.entries(objectOf(networks)).map(([name, network]) => {
    const { ip } = objectOf(network);
    return [name, typeof ip === 'string' && ip !== '' ? ip : undefined] as const;
  });
  const identity = typeof agentId === 'string' && agentId !== '' ? { agentId } : {};
  return {
    ...identity,
    jobState,
    addresses: Object.fromEntries(addresses),
    failedProcesses: parseFailedProcesses(processes),
  };
}

const maxFailedProcesses = 20;
const maxNameLength = 200;
const maxProblemLength = 1000;
const maxOutputLength = 4096;

/** Reads only failed processes and limits the text, because the agent is untrusted. */
function parseFailedProcesses(processes: unknown): readonly FailedProcess[] {
  if (!Array.isArray(processes)) return [];
  return processes
    .flatMap((process: unknown) => {
      const { name, job, state, problem, last_exit: lastExit, output } = objectOf(process);
      if (typeof name !== 'string' || typeof state !== 'string' || state === 'running') return [];
      return {
        name: truncateAtWord(name, maxNameLength),
        job: truncateText(job, maxNameLength),
        state: truncateAtWord(state, maxNameLength),
        problem: truncateText(problem, maxProblemLength),
        lastExit: truncateText(lastExit, maxNameLength),
        output: typeof output === 'string' ? tail(output) : '',
      };
    })
    .slice(0, maxFailedProcesses);
}

const truncateText = (text: unknown, maxLength: number): string | undefined =>
  typeof text === 'string' ? truncateAtWord(text, maxLength) : undefined;

function tail(output: string): string {
  return output.length <= maxOutputLength ? output : dropFirstWord(output.slice(-maxOutputLength));
}

function parseDisks(value: unknown, tasks: AgentTasks): readonly string[] {
  if (Array.isArray(value) && value.length > maxDisks)
    throw tasks.unexpected('list_disk', `a list of disks: it has more than ${maxDisks} disks`);
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value;
  if (value === null || value === undefined) return [];
  throw tasks.unexpected('list_disk', 'a list of disk cids');
}

/**
 * Parses the result of `ssh setup`. Root of the VM controls it, and it becomes an argument of ssh and a line
 * of known_hosts.
 */
function parseSshLogin(value: unknown, tasks: AgentTasks): SshLogin {
  const { status, ip, host_public_key: given } = objectOf(value);
  const hostKey = typeof given === 'string' ? given.trim() : '';
  if (status === 'success' && typeof ip === 'string' && isIP(ip) !== 0 && isPublicKey(hostKey))
    return { address: ip, hostKey };
  throw tasks.unexpected('ssh', 'a success with the address of the VM and the public key of its sshd');
}

/**
 * Parses the result of `bundle_logs`. The path becomes an argument of scp, so only characters without a
 * meaning for a shell are allowed.
 */
function parseLogBundle(value: unknown, tasks: AgentTasks): LogBundle {
  const { logs_tar_path: path, sha512: digest } = objectOf(value);
  const sha512 = /^sha512:([0-9a-f]{128})$/.exec(typeof digest === 'string' ? digest : '')?.[1];
  if (typeof path === 'string' && /^\/[\w./-]{1,1000}$/.test(path) && sha512 !== undefined)
    return { path, sha512 };
  throw tasks.unexpected('bundle_logs', 'the path of an archive with its SHA-512');
}

/** Returns an empty object for anything but an object. */
const objectOf = (value: unknown): JsonObject => (isObject(value) ? value : {});
