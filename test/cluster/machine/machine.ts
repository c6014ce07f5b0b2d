import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, open, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { until } from '../../support/until.ts';
import { end } from './kill.ts';
import { childrenOf, innerPid, pidNamespaceOf, recordOf } from './proc.ts';
import { readRecord, removeRecord, writeRecord, type Started } from './record-file.ts';
import { run, runWell, type Ran } from './run.ts';

/** A process that goes on running in a machine. */
export interface Service {
  readonly name: string;
  readonly command: readonly string[];
  /** How long it may take to end after SIGTERM before it is killed; 0 kills at once. */
  readonly graceMs: number;
  /** Shares only the network of the machine: it sees the host's processes and mounts. */
  readonly onHost?: true;
}

const initScript = fileURLToPath(new URL('init.sh', import.meta.url));

/**
 * A machine of the test cluster: mount, pid, network, uts and ipc namespaces that its first process holds. Nothing of it
 * outlives that process but what it wrote to the disk, as with the power of a real one. Its records are in `directory`.
 */
export class Machine {
  readonly name: string;
  readonly directory: string;

  constructor(name: string, directory: string) {
    this.name = name;
    this.directory = directory;
  }

  /** Starts the machine unless it runs. False when it did. */
  async start(): Promise<boolean> {
    if ((await this.#first()) !== undefined) return false;
    await mkdir(this.directory, { recursive: true, mode: 0o700 });
    const namespaces = ['--mount', '--net', '--uts', '--ipc', '--pid', '--fork', '--kill-child'];
    const words = [...namespaces, '--mount-proc', '--propagation', 'private', 'sh', initScript, this.name];
    const log = await open(join(this.directory, 'machine.log'), 'w', 0o600);
    const child = spawn('unshare', words, { detached: true, stdio: ['ignore', 'pipe', log.fd] });
    await log.close();
    const { pid: parent, stdout } = child;
    const [said] = await Promise.race([
      ...(stdout === null ? [] : [once(stdout, 'data')]),
      once(child, 'close'),
    ]);
    if (String(said).trim() !== 'ready' || parent === undefined) {
      throw new Error(
        `machine ${this.name} did not start: ${await readFile(this.#path('machine.log'), 'utf8')}`,
      );
    }
    const [pid = 0] = await childrenOf(parent);
    const record = await recordOf(pid);
    if (record === undefined) throw new Error(`machine ${this.name} ended right after its start`);
    await writeRecord(this.#path('machine.json'), { ...record, command: [this.name] });
    stdout?.destroy();
    child.unref();
    return true;
  }

  /** The pid of its first process, by which its namespaces are entered. Throws when it is down. */
  async pid(): Promise<number> {
    const first = await this.#first();
    if (first === undefined) throw new Error(`machine ${this.name} is down`);
    return first.pid;
  }

  async isUp(): Promise<boolean> {
    return (await this.#first()) !== undefined;
  }

  /** Ends everything in it at once, as a power cut does. */
  async kill(): Promise<void> {
    const first = await this.#first();
    if (first !== undefined) await end(first, 0);
    // what else runs yet has only its network from the machine
    for (const file of existsSync(this.directory) ? await readdir(this.directory) : []) {
      if (!file.endsWith('.json')) continue;
      const running = await readRecord(this.#path(file));
      if (running !== undefined) await end(running, 0);
      await removeRecord(this.#path(file));
    }
  }

  /** The words that run a command in the machine. */
  async entering(command: readonly string[]): Promise<string[]> {
    return ['nsenter', '-t', String(await this.pid()), '-m', '-n', '-u', '-i', '-p', '--', ...command];
  }

  /** Runs a command in the machine to its end; a non-zero exit code is a result. */
  async run(command: readonly string[]): Promise<Ran> {
    return run(await this.entering(command));
  }

  /** The stdout of a command in the machine that has to succeed. */
  async runWell(command: readonly string[], input = ''): Promise<string> {
    return runWell(await this.entering(command), input);
  }

  /** Runs a command of the caller's in the machine's network only: it sees the caller's pids and files. */
  async runInNetwork(command: readonly string[]): Promise<string> {
    return runWell([...(await this.enteringNetwork()), ...command]);
  }

  /** The words that run a command of the caller's in the machine's network. */
  async enteringNetwork(): Promise<string[]> {
    return ['nsenter', '-t', String(await this.pid()), '-n', '--'];
  }

  /** Starts a service unless it runs as it is asked for; one that was started differently is ended first. */
  async serve(service: Service): Promise<boolean> {
    const running = await this.#service(service.name);
    if (running !== undefined) {
      if (JSON.stringify(running.command) === JSON.stringify(service.command)) return false;
      await end(running, service.graceMs);
    }
    // its own session: an interrupt at the terminal is not for it; PID 1 of the machine becomes its parent
    const script = 'log=$1; shift; setsid "$@" >>"$log" 2>&1 </dev/null & echo $!';
    const log = this.#path(`${service.name}.log`);
    const words = ['sh', '-c', script, 'sh', log, ...service.command];
    const record =
      service.onHost === true
        ? await recordOf(Number(await this.runInNetwork(words)))
        : await this.#recordOfInner(Number(await this.runWell(words)));
    if (record === undefined) throw new Error(`${service.name} on ${this.name} ended at once; see ${log}`);
    await writeRecord(this.#path(`${service.name}.json`), { ...record, command: service.command });
    return true;
  }

  async isServing(name: string): Promise<boolean> {
    return (await this.#service(name)) !== undefined;
  }

  /** Ends a service and waits until it is gone. */
  async endService({ name, graceMs }: Pick<Service, 'name' | 'graceMs'>): Promise<void> {
    const running = await this.#service(name);
    if (running !== undefined) await end(running, graceMs);
    await removeRecord(this.#path(`${name}.json`));
  }

  /** The last lines that a service wrote. */
  async lastWords(name: string): Promise<string> {
    return (await readFile(this.#path(`${name}.log`), 'utf8')).trim().split('\n').slice(-8).join('\n');
  }

  /** Stops every process in it but the first, those of containers too, until `thaw`. kill(2): -1 leaves out the sender. */
  async freeze(): Promise<void> {
    await this.runWell(['sh', '-c', 'kill -STOP -1; kill -STOP -1']);
  }

  async thaw(): Promise<void> {
    await this.runWell(['sh', '-c', 'kill -CONT -1']);
  }

  /** Lines of its mountinfo. */
  async mounts(): Promise<string[]> {
    return (await readFile(`/proc/${await this.pid()}/mountinfo`, 'utf8')).trimEnd().split('\n');
  }

  #first(): Promise<Started | undefined> {
    return readRecord(this.#path('machine.json'));
  }

  /** A record of a service of an earlier life of the machine names a process that is gone. */
  #service(name: string): Promise<Started | undefined> {
    return readRecord(this.#path(`${name}.json`));
  }

  async #recordOfInner(inner: number): ReturnType<typeof recordOf> {
    for (const pid of await pidNamespaceOf(await this.pid())) {
      if ((await innerPid(pid)) === inner) return recordOf(pid);
    }
    return undefined;
  }

  #path(name: string): string {
    return join(this.directory, name);
  }
}

/** Waits until `check` holds; when a service that has to make it so has ended, fails with its last words. */
export async function awaitService(
  machine: Machine,
  name: string,
  check: () => Promise<boolean>,
): Promise<void> {
  await until(`${name} on ${machine.name}`, async () => {
    if (await check()) return true;
    if (await machine.isServing(name)) return false;
    throw new Error(`${name} on ${machine.name} ended: ${await machine.lastWords(name)}`);
  });
}
