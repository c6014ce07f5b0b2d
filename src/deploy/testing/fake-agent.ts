import { createHash, randomUUID } from 'node:crypto';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import type { FakeVm } from './fake-cpi.ts';

interface AgentOfVm {
  readonly agentId: string;
  readonly server: HttpsServer;
  mounted: string[];
  readonly hints: Map<string, unknown>;
  jobState: string;
  networks: Record<string, { ip?: string }>;
}

export interface FakeAgentFaults {
  /** The method fails with this message. */
  failing?: { readonly verb: string; readonly message: string };
  unreachable?: boolean;
  /** The agent id that get_state reports; none if empty. The default is the VM's agent id. */
  agentId?: string;
  /** The job state that get_state reports after the jobs were started. */
  startedState?: string;
  /** The job state that get_state reports instead of that of the VM. */
  jobState?: string;
  /** The processes that get_state reports. */
  processes?: readonly unknown[];
  /** Called once at the `nth` call of a method (the first is 1), before or after the agent performs it. */
  interruption?: {
    readonly verb: string;
    readonly nth: number;
    readonly moment: 'before' | 'after';
    readonly happens: () => void;
  };
}

/** The agent methods that are called before a VM is deleted, in order. */
export const shutDownVerbs: readonly string[] = [
  'get_state',
  'run_script',
  'drain',
  'stop',
  'run_script',
  'list_disk',
  'unmount_disk',
];

type Args = readonly unknown[];

/**
 * The agent of the VM in the fake CPI's directory, at one address: HTTPS mbus with the certificate of the
 * VM's env, Basic auth `mbus:secret`, tasks and blobs. It does not respond while there is no VM.
 */
export class FakeAgent {
  readonly calls: { readonly method: string; readonly arguments: Args }[] = [];
  readonly faults: FakeAgentFaults = {};
  readonly blobs = new Map<string, Buffer>();
  /** The responses to further methods. */
  readonly answers = new Map<string, unknown>();
  /** The texts that jobs wrote to each disk, one for each start. */
  readonly contents = new Map<string, readonly string[]>();
  readonly #cloud: string;
  readonly #listener: Server;
  readonly #agents = new Map<string, AgentOfVm>();
  readonly #tasks = new Map<string, unknown>();
  readonly #sockets = new Set<Socket>();

  private constructor(cloud: string) {
    this.#cloud = cloud;
    this.#listener = createServer((socket) => this.#accept(socket));
  }

  static async start(cloud: string): Promise<FakeAgent> {
    const agent = new FakeAgent(cloud);
    await new Promise<void>((resolve) => agent.#listener.listen(0, '127.0.0.1', resolve));
    return agent;
  }

  get port(): number {
    return (this.#listener.address() as AddressInfo).port;
  }

  get verbs(): string[] {
    return this.calls
      .map(({ method }) => method)
      .filter((method) => method !== 'get_task' && method !== 'ping');
  }

  get mountedDisks(): string[] {
    const vm = this.#currentVm();
    return (vm === undefined ? undefined : this.#agents.get(vm.cid))?.mounted ?? [];
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#listener.close(resolve));
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    const vm = this.#currentVm();
    if (vm === undefined || this.faults.unreachable === true) return void socket.destroy();
    const agent = this.#agents.get(vm.cid) ?? this.#boot(vm);
    agent.server.emit('connection', socket);
  }

  #boot(vm: FakeVm & { cid: string }): AgentOfVm {
    const { certificate, private_key: key } = vm.env.bosh.mbus.cert;
    const server = createHttpsServer({ cert: certificate, key }, (request, response) => {
      this.#serve(vm.cid, request, response).catch((error: unknown) => response.destroy(error as Error));
    });
    const { agentId } = vm;
    const agent: AgentOfVm = {
      agentId,
      server,
      mounted: [],
      hints: new Map(),
      jobState: 'stopped',
      networks: {},
    };
    this.#agents.set(vm.cid, agent);
    return agent;
  }

  #currentVm(): (FakeVm & { cid: string }) | undefined {
    const directory = join(this.#cloud, 'vms');
    const [file] = existsSync(directory) ? readdirSync(directory) : [];
    if (file === undefined) return undefined;
    return { ...JSON.parse(readFileSync(join(directory, file), 'utf8')), cid: file.replace('.json', '') };
  }

  async #serve(cid: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const expected = `Basic ${Buffer.from('mbus:secret').toString('base64')}`;
    if (request.headers.authorization !== expected) return void response.writeHead(401).end();
    const [, kind, ...rest] = (request.url ?? '').split('/');
    if (kind === 'blobs') return this.#serveBlob(request.method, rest.at(-1) ?? '', body, response);
    const { method, arguments: args } = JSON.parse(body.toString()) as { method: string; arguments: Args };
    this.calls.push({ method, arguments: args });
    if (this.#isInterrupted(method, 'before')) return void response.destroy();
    const answer = JSON.stringify(this.#answer(cid, method, args));
    if (this.#isInterrupted(method, 'after')) return void response.destroy();
    response.end(answer);
  }

  #isInterrupted(method: string, moment: 'before' | 'after'): boolean {
    const { interruption } = this.faults;
    if (interruption?.verb !== method || interruption.moment !== moment) return false;
    if (this.calls.filter((call) => call.method === method).length < interruption.nth) return false;
    delete this.faults.interruption;
    interruption.happens();
    return true;
  }

  #serveBlob(method: string | undefined, id: string, body: Buffer, response: ServerResponse): void {
    if (method === 'PUT') {
      this.blobs.set(id, body);
      return void response.writeHead(201).end();
    }
    const blob = this.blobs.get(id);
    response.writeHead(blob === undefined ? 404 : 200).end(blob);
  }

  #answer(cid: string, method: string, args: Args): object {
    if (method === 'ping') return { value: 'pong' };
    if (method === 'get_task') return { value: this.#tasks.get(String(args[0])) };
    const { failing } = this.faults;
    if (failing?.verb === method) return { exception: { message: failing.message } };
    const agent = this.#agents.get(cid);
    if (agent === undefined) return { exception: { message: 'no such VM' } };
    if (this.answers.has(method)) return { value: this.answers.get(method) };
    const value = this.#act(agent, method, args);
    if (value === undefined) return { exception: { message: `unknown message ${method}` } };
    if (method === 'get_state' || method === 'start') return { value };
    const task = randomUUID();
    this.#tasks.set(task, value);
    return { value: { agent_task_id: task, state: 'running' } };
  }

  #act(agent: AgentOfVm, method: string, args: Args): unknown {
    switch (method) {
      case 'get_state':
        return {
          ...this.#idOf(agent),
          job_state: this.faults.jobState ?? agent.jobState,
          networks: agent.networks,
          processes: this.faults.processes,
        };
      case 'apply':
        agent.networks = (args[0] as { networks: AgentOfVm['networks'] }).networks;
        return 'applied';
      case 'start':
        agent.jobState = this.faults.startedState ?? 'running';
        this.#write(agent.mounted[0], 'start');
        return 'started';
      case 'stop':
        agent.jobState = 'stopped';
        return 'stopped';
      case 'drain':
        return 0;
      case 'run_script':
        return {};
      case 'compile_package':
        return this.#compile(args);
      default:
        return this.#actOnDisk(agent, method, args);
    }
  }

  #idOf(agent: AgentOfVm): { agent_id?: string } {
    const { agentId = agent.agentId } = this.faults;
    return agentId === '' ? {} : { agent_id: agentId };
  }

  #actOnDisk(agent: AgentOfVm, method: string, args: Args): unknown {
    const disk = String(args[0]);
    switch (method) {
      case 'list_disk':
        return agent.mounted;
      case 'add_persistent_disk':
        agent.hints.set(disk, args[1]);
        return {};
      case 'mount_disk':
        if (agent.hints.has(disk)) agent.mounted = [...agent.mounted, disk];
        return {};
      case 'unmount_disk':
        agent.mounted = agent.mounted.filter((cid) => cid !== disk);
        return { message: `Unmounted ${disk}` };
      case 'migrate_disk':
        this.#copy(agent.mounted);
        agent.mounted = agent.mounted.slice(1);
        return {};
      case 'remove_persistent_disk':
        agent.hints.delete(disk);
        return {};
      default:
        return undefined;
    }
  }

  #write(disk: string | undefined, word: string): void {
    if (disk !== undefined) this.contents.set(disk, [...(this.contents.get(disk) ?? []), word]);
  }

  #copy([from = '', to = '']: readonly string[]): void {
    this.contents.set(to, this.contents.get(from) ?? []);
  }

  #compile([source, , name]: Args): unknown {
    const blobId = randomUUID();
    const compiled = Buffer.from(`compiled ${String(name)} of ${String(source)}`);
    this.blobs.set(blobId, compiled);
    return { result: { blobstore_id: blobId, sha1: createHash('sha1').update(compiled).digest('hex') } };
  }
}
