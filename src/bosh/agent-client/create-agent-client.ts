import { randomUUID } from 'node:crypto';
import { isProductError } from '../../errors/product-error.ts';
import { truncateAtWord, dropFirstWord } from '../../errors/text.ts';
import type { AgentClient, AgentClock, AgentState, BlobReference, FailedProcess } from './agent-client.ts';
import { AgentBlobs } from './agent-blobs.ts';
import { AgentTasks } from './agent-tasks.ts';
import { MbusConnection } from './mbus-connection.ts';
import type { Socks5Proxy } from './socks5-connect.ts';
import { parseLogBundle, parseSshLogin } from './ssh-answers.ts';

export interface AgentClientOptions {
  /** `https://user:password@host:port`. http is allowed only for a loopback address. */
  readonly mbusUrl: string;
  /** PEM of the CA that signed the agent's certificate. The system's roots by default. */
  readonly ca?: string | undefined;
  /** The `reply_to` of every request. */
  readonly directorId: string;
  readonly clock: AgentClock;
  /** Makes the ids of the blobs that putBlob creates; crypto.randomUUID by default. */
  readonly uuid?: (() => string) | undefined;
  /** Aborts every wait with INTERRUPTED. */
  readonly signal?: AbortSignal | undefined;
  /** The proxy to the agent; without one the connection is direct. */
  readonly proxy?: Socks5Proxy | undefined;
  /** The maximum size of a downloaded blob in bytes; archiveLimits.total by default. */
  readonly longestBlob?: number | undefined;
  /** Makes the signals that end tasks with DEADLINE; AbortSignal.timeout by default. */
  readonly timeout?: ((milliseconds: number) => AbortSignal) | undefined;
}

/**
 * Timeouts in milliseconds. `ping` checks if the agent responds now. During `start` the agent waits for its
 * supervisor.
 */
const pingPatience = 5000;
const startPatience = 600_000;
/** The agent packs all logs before it responds. */
const bundlePatience = 600_000;
/** For the scripts and the compilation of a release, and for copying disks. Every other task has an hour. */
const longTaskOptions = { deadline: 24 * 3_600_000 };

/** Disks are unmounted one after another. No VM has this many. */
const maxDisks = 128;

const abortAfter = (milliseconds: number): AbortSignal => AbortSignal.timeout(milliseconds);

/** Creates a client of one agent. Throws INVALID_ARGUMENT if the URL is invalid. Does not connect yet. */
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

/**
 * Ignores a method that an older agent does not know: such agents work without it (bosh-agent:
 * agentclient/http/agent_client.go).
 */
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

/** Reads only failed processes and limits the text, because the agent is untrusted. */
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
