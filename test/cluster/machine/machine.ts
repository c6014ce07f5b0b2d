import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, open, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { until } from '../../support/until.ts';
import {
  end,
  childrenOf,
  innerPid,
  pidNamespaceOf,
  recordOf,
  readRecord,
  removeRecord,
  writeRecord,
  type Started,
} from './processes.ts';
import { run, runWell, type Ran } from '../../support/run.ts';

/** A long-running process in a machine. */
export interface Service {
  readonly name: string;
  readonly command: readonly string[];
  /** Milliseconds between SIGTERM and SIGKILL. 0 kills at once. */
  readonly graceMs: number;
  /** True if it shares only the network of the machine and sees the processes and mounts of the host. */
  readonly onHost?: true;
}

const initScript = fileURLToPath(new URL('init.sh', import.meta.url));

/**
 * A machine of the test cluster: mount, pid, network, uts and ipc namespaces that live as long as its first
 * process. Nothing outlives that process except what was written to disk, as in a power loss. Its records are
 * in `directory`.
 */
export class Machine {
  readonly name: string;
  readonly directory: string;

  constructor(name: string, directory: string) {
    this.name = name;
    this.directory = directory;
  }

  /** Starts the machine if it does not run. Returns false if it did. */
  async start(): Promise<boolean> {
    if ((await this.#first()) !== undefined) return false;
    await mkdir(this.directory, { recursive: true, mode: 0o700 });
    const namespaces = ['--mount', '--net', '--uts', '--ipc', '--pid', '--fork', '--kill-child'];
    const args = [...namespaces, '--mount-proc', '--propagation', 'private', 'sh', initScript, this.name];
    const log = await open(join(this.directory, 'machine.log'), 'w', 0o600);
    const child = spawn('unshare', args, { detached: true, stdio: ['ignore', 'pipe', log.fd] });
    await log.close();
    const { pid: parent, stdout } = child;
    const [output] = await Promise.race([
      ...(stdout === null ? [] : [once(stdout, 'data')]),
      once(child, 'close'),
    ]);
    if (String(output).trim() !== 'ready' || parent === undefined) {
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

  /**
   * Returns the pid of its first process, through which its namespaces are entered. Throws if the machine is
   * down.
   */
  async pid(): Promise<number> {
    const first = await this.#first();
    if (first === undefined) throw new Error(`machine ${this.name} is down`);
    return first.pid;
  }

  async isUp(): Promise<boolean> {
    return (await this.#first()) !== undefined;
  }

  /** Kills everything in it at once, as a power loss does. */
  async kill(): Promise<void> {
    const first = await this.#first();
    if (first !== undefined) await end(first, 0);
    // The services that are still running share only the network of the machine.
    for (const file of existsSync(this.directory) ? await readdir(this.directory) : []) {
      if (!file.endsWith('.json')) continue;
      const running = await readRecord(this.#path(file));
      if (running !== undefined) await end(running, 0);
      await removeRecord(this.#path(file));
    }
  }

  /** Returns the arguments that run a command in the machine. */
  async entering(command: readonly string[]): Promise<string[]> {
    return ['nsenter', '-t', String(await this.pid()), '-m', '-n', '-u', '-i', '-p', '--', ...command];
  }

  /** Runs a command in the machine and waits for its end. A non-zero exit code is a result, not an error. */
  async run(command: readonly string[]): Promise<Ran> {
    return run(await this.entering(command));
  }

  /** Returns the stdout of a command in the machine. Rejects if the command fails. */
  async runWell(command: readonly string[], input = ''): Promise<string> {
    return runWell(await this.entering(command), { input });
  }

  /** Runs a command in the machine's network, with the caller's pids and files. */
  async runInNetwork(command: readonly string[]): Promise<string> {
    return runWell([...(await this.enteringNetwork()), ...command]);
  }

  /** Returns the arguments that run a command in the machine's network, with the caller's pids and files. */
  async enteringNetwork(): Promise<string[]> {
    return ['nsenter', '-t', String(await this.pid()), '-n', '--'];
  }

  /**
   * Starts a service unless it already runs with this definition. A service that was started with another
   * definition is stopped first.
   */
  async serve(service: Service): Promise<boolean> {
    const running = await this.#service(service.name);
    if (running !== undefined) {
      if (JSON.stringify(running.command) === JSON.stringify(service.command)) return false;
      await end(running, service.graceMs);
    }
    // A new session, so that Ctrl-C in the terminal does not reach the service. Its parent becomes PID 1 of
    // the machine.
    const script = 'log=$1; shift; setsid "$@" >>"$log" 2>&1 </dev/null & echo $!';
    const log = this.#path(`${service.name}.log`);
    const args = ['sh', '-c', script, 'sh', log, ...service.command];
    const record =
      service.onHost === true
        ? await recordOf(Number(await this.runInNetwork(args)))
        : await this.#recordOfInner(Number(await this.runWell(args)));
    if (record === undefined) throw new Error(`${service.name} on ${this.name} ended at once; see ${log}`);
    await writeRecord(this.#path(`${service.name}.json`), { ...record, command: service.command });
    return true;
  }

  async isServing(name: string): Promise<boolean> {
    return (await this.#service(name)) !== undefined;
  }

  /** Stops a service and waits until it has exited. */
  async endService({ name, graceMs }: Pick<Service, 'name' | 'graceMs'>): Promise<void> {
    const running = await this.#service(name);
    if (running !== undefined) await end(running, graceMs);
    await removeRecord(this.#path(`${name}.json`));
  }

  /** Returns the last lines of a service's log. */
  async lastWords(name: string): Promise<string> {
    return (await readFile(this.#path(`${name}.log`), 'utf8')).trim().split('\n').slice(-8).join('\n');
  }

  /**
   * Stops all processes of the machine except the first, including those of containers, until `thaw`. kill(2)
   * with -1 does not signal the sender.
   */
  async freeze(): Promise<void> {
    await this.runWell(['sh', '-c', 'kill -STOP -1; kill -STOP -1']);
  }

  async thaw(): Promise<void> {
    await this.runWell(['sh', '-c', 'kill -CONT -1']);
  }

  /** Returns the lines of its mountinfo. */
  async mounts(): Promise<string[]> {
    return (await readFile(`/proc/${await this.pid()}/mountinfo`, 'utf8')).trimEnd().split('\n');
  }

  #first(): Promise<Started | undefined> {
    return readRecord(this.#path('machine.json'));
  }

  /**
   * Returns the record of a service. A record from an earlier boot of the machine names a process that no
   * longer exists.
   */
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

/** Waits until `check` succeeds. Fails with the last lines of the log if one of the services has exited. */
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

/**
 * Returns the arguments that start a Go program which shares two cores with many others. One of its threads
 * runs at a time, so that none spins looking for work. The heap may grow to four times the live data, or by
 * 400 MiB, before a garbage collection. Its child processes inherit this.
 */
export const withGoSettings = (command: readonly string[]): [string, ...string[]] => [
  'env',
  ...['GOMAXPROCS=1', 'GOGC=400', 'GOMEMLIMIT=400MiB'],
  ...command,
];
