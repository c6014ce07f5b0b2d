import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { eventually } from '../../src/agent/testing/eventually.ts';

const run = promisify(execFile);

/** A containerd with its own directories and socket. */
export class PrivateContainerd {
  readonly directory: string;
  readonly #process: ChildProcess;

  private constructor(directory: string, process: ChildProcess) {
    this.directory = directory;
    this.#process = process;
  }

  static async start(): Promise<PrivateContainerd> {
    // The name is short, because the path of a socket is limited to about 100 bytes.
    const directory = await mkdtemp(join(tmpdir(), 'ctrd-'));
    const directories = ['--root', join(directory, 'root'), '--state', join(directory, 'state')];
    const child = spawn('containerd', [...directories, '--address', join(directory, 'socket')], {
      stdio: 'ignore',
    });
    const started = new PrivateContainerd(directory, child);
    try {
      await eventually('containerd', () => started.ctr('version').catch(() => undefined));
    } catch (error) {
      await started.#end();
      throw error;
    }
    return started;
  }

  get address(): string {
    return join(this.directory, 'socket');
  }

  /** Returns the output of ctr(8). */
  async ctr(...args: readonly string[]): Promise<string> {
    const all = ['--address', this.address, '--namespace', 'k8s.io', ...args];
    const { stdout } = await run('ctr', all, { timeout: 120_000, maxBuffer: 1 << 24 });
    return stdout;
  }

  /** Ends the containers and then containerd, and removes all files. */
  async stop(): Promise<void> {
    try {
      const containers = (await this.ctr('containers', 'list', '--quiet')).split('\n').filter(Boolean);
      for (const name of containers) await this.remove(name);
    } finally {
      await this.#end();
    }
  }

  async #end(): Promise<void> {
    const ended = once(this.#process, 'exit');
    this.#process.kill('SIGTERM');
    await ended;
    await rm(this.directory, { recursive: true, force: true });
  }

  async remove(container: string): Promise<void> {
    await this.ctr('task', 'rm', '--force', container).catch(() => undefined);
    await this.ctr('containers', 'rm', container);
  }
}
