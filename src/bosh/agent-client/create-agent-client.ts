import { randomUUID } from 'node:crypto';
import { isProductError } from '../../errors/product-error.ts';
import { truncateAtWord, dropFirstWord } from '../../errors/redact/whole-words.ts';
import type { AgentClient, AgentClock, AgentState, BlobReference, FailedProcess } from './agent-client.ts';
import { AgentBlobs } from './agent-blobs.ts';
import { AgentTasks } from './agent-tasks.ts';
import { MbusConnection } from './mbus-connection.ts';
import type { Socks5Proxy } from './socks5-connect.ts';
import { parseLogBundle, parseSshLogin } from './ssh-answers.ts';

export interface AgentClientOptions {
  /** `https://user:password@host:port`; http to this machine alone. */
  readonly mbusUrl: string;
  /** PEM of the CA that signed the agent's certificate; absent: the system's roots. */
  readonly ca?: string | undefined;
  /** `reply_to` of every request. */
  readonly directorId: string;
  readonly clock: AgentClock;
  /** Default crypto.randomUUID; names the blobs that putBlob makes. */
  readonly uuid?: (() => string) | undefined;
  /** Ends every wait with INTERRUPTED. */
  readonly signal?: AbortSignal | undefined;
  /** By way of which the agent is reached; absent: directly. */
  readonly proxy?: Socks5Proxy | undefined;
  /** Bytes of a blob that is downloaded; default archiveLimits.total. */
  readonly longestBlob?: number | undefined;
  /** Default AbortSignal.timeout; ends tasks with DEADLINE. */
  readonly timeout?: ((milliseconds: number) => AbortSignal) | undefined;
}

/** A ping says whether somebody is there now; start makes the agent wait for its supervisor. Milliseconds. */
const pingPatience = 5000;
const startPatience = 600_000;
/** The agent packs all logs before it answers. */
const bundlePatience = 600_000;
/** For scripts of a release, its compilation, and disks that are copied; every other task has an hour. */
const longTaskOptions = { deadline: 24 * 3_600_000 };

/** Each is unmounted in turn; no VM has as many. */
const maxDisks = 128;

const abortAfter = (milliseconds: number): AbortSignal => AbortSignal.timeout(milliseconds);

/** A client of one agent. INVALID_ARGUMENT when the URL is none; no connection is made yet. */
export function createAgentClient(options: AgentClientOptions): AgentClient {
  const { clock, directorId, signal, uuid = randomUUID, timeout = abortAfter } = options;
  const connection = new MbusConnection(options);
  const tasks = new AgentTasks({
    connection,
    directorId,
    clock,
    signal,
    timeout,
  });
  const blobs = new AgentBlobs(connection, clock, options.longestBlob);
  const run = async (method: string, ...args: readonly unknown[]): Promise<void> => {
    await tasks.runTask(method, args);
  };
  const runLong = async (method: string, ...args: readonly unknown[]): Promise<void> => {
    await tasks.runTask(method, args, longTaskOptions);
  };
  return {
    ping: async () => {
      const value = await tasks.call('ping', [], { idleTimeoutMs: pingPatience });
      if (value !== 'pong') throw tasks.unexpected('ping', "'pong'");
    },
    getState: async () => readState(await tasks.callWithRetry('get_state', []), tasks),
    apply: (spec) => run('apply', spec),
    start: async () => {
      const value = await tasks.runTask('start', [], { idleTimeoutMs: startPatience });
      if (value !== 'started') throw tasks.unexpected('start', "'started'");
    },
    stop: () => runLong('stop'),
    runScript: (name) => ignoreUnknownMethod(runLong('run_script', name, { env: {} })),
    drain: async () => {
      const seconds = await tasks.runTask('drain', ['shutdown', {}], longTaskOptions);
      if (typeof seconds !== 'number') throw tasks.unexpected('drain', 'a number of seconds');
      return seconds;
    },
    compilePackage: async (source, dependencies) =>
      readCompiled(await compile(tasks, source, dependencies), tasks),
    listDisks: async () => readTexts(await tasks.runTask('list_disk', []), tasks),
    addPersistentDisk: (cid, hint) => ignoreUnknownMethod(run('add_persistent_disk', cid, hint)),
    removePersistentDisk: (cid) => ignoreUnknownMethod(run('remove_persistent_disk', cid)),
    mountDisk: (cid) => run('mount_disk', cid),
    unmountDisk: (cid) => run('unmount_disk', cid),
    migrateDisk: () => runLong('migrate_disk'),
    putBlob: async (path) => {
      const id = uuid();
      await blobs.put(id, path);
      return id;
    },
    getBlob: (id, path) => blobs.get(id, path),
    setUpSsh: async (user, publicKey) =>
      parseSshLogin(await tasks.call('ssh', ['setup', { user, public_key: publicKey }]), tasks),
    cleanUpSsh: async (user) => {
      await tasks.call('ssh', ['cleanup', { user_regex: `^${user}` }]);
    },
    bundleLogs: async (user, types, filters) => {
      const request = { owning_user: user, log_type: types.join(','), filters };
      return parseLogBundle(
        await tasks.call('bundle_logs', [request], { idleTimeoutMs: bundlePatience }),
        tasks,
      );
    },
    removeFile: async (path) => {
      await tasks.call('remove_file', [path]);
    },
  };
}

/** Agents that are older than a method get along without it (bosh-agent: agentclient/http/agent_client.go). */
async function ignoreUnknownMethod(call: Promise<void>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!isProductError(error, 'AGENT_ERROR') || !error.message.includes('unknown message')) throw error;
  }
}

async function compile(
  tasks: AgentTasks,
  { name, version, sha1, blobstoreId }: BlobReference,
  dependencies: readonly BlobReference[],
): Promise<unknown> {
  const named = dependencies.map((one) => [
    one.name,
    { name: one.name, version: one.version, sha1: one.sha1, blobstore_id: one.blobstoreId },
  ]);
  const args = [blobstoreId, sha1, name, version, Object.fromEntries(named)];
  return tasks.runTask('compile_package', args, longTaskOptions);
}

function readCompiled(value: unknown, tasks: AgentTasks): { blobstoreId: string; sha1: string } {
  const result = asRecord(asRecord(value)?.['result']);
  const { blobstore_id: blobstoreId, sha1 } = result ?? {};
  if (typeof blobstoreId === 'string' && typeof sha1 === 'string') return { blobstoreId, sha1 };
  throw tasks.unexpected('compile_package', 'a result with blobstore_id and sha1');
}

function readState(value: unknown, tasks: AgentTasks): AgentState {
  const state = asRecord(value);
  const jobState = state?.['job_state'];
  if (state === undefined || typeof jobState !== 'string')
    throw tasks.unexpected('get_state', 'a state with job_state');
  const addresses = Object.entries(asRecord(state['networks']) ?? {}).map(([name, network]) => {
    const ip = asRecord(network)?.['ip'];
    return [name, typeof ip === 'string' && ip !== '' ? ip : undefined] as const;
  });
  const { agent_id: agentId } = state;
  const whose = typeof agentId === 'string' && agentId !== '' ? { agentId } : {};
  const troubled = parseFailedProcesses(state['processes']);
  return { ...whose, jobState, addresses: Object.fromEntries(addresses), failedProcesses: troubled };
}

const mostTroubled = 20;
const longestName = 200;
const longestProblem = 1000;
const longestOutput = 4096;

/** Only the words of those that are not up, and of a hostile agent's no more than a screen holds. */
function parseFailedProcesses(processes: unknown): readonly FailedProcess[] {
  if (!Array.isArray(processes)) return [];
  return processes
    .flatMap((process: unknown) => {
      const { name, job, state, problem, last_exit: lastExit, output } = asRecord(process) ?? {};
      if (typeof name !== 'string' || typeof state !== 'string' || state === 'running') return [];
      return {
        name: truncateAtWord(name, longestName),
        job: firstWords(job, longestName),
        state: truncateAtWord(state, longestName),
        problem: firstWords(problem, longestProblem),
        lastExit: firstWords(lastExit, longestName),
        output: typeof output === 'string' ? tail(output) : '',
      };
    })
    .slice(0, mostTroubled);
}

const firstWords = (text: unknown, longest: number): string | undefined =>
  typeof text === 'string' ? truncateAtWord(text, longest) : undefined;

function tail(output: string): string {
  return output.length <= longestOutput ? output : dropFirstWord(output.slice(-longestOutput));
}

function readTexts(value: unknown, tasks: AgentTasks): readonly string[] {
  if (Array.isArray(value) && value.length > maxDisks)
    throw tasks.unexpected('list_disk', `a list of disks: it has more than ${maxDisks} disks`);
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value;
  if (value === null || value === undefined) return [];
  throw tasks.unexpected('list_disk', 'a list of disk cids');
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
}
