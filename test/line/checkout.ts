import { spawn } from 'node:child_process';
import { execFile } from 'node:child_process';
import { chown, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { mountsOf, processesOf, type MachineProcess } from '../support/machine.ts';

const run = promisify(execFile);

/** How a clone's commands run. */
export interface CheckoutOptions {
  /** Only for root: the owner of the clone and the user of its commands. */
  readonly uid?: number | undefined;
  /** A command prefix that runs as this process's user and must switch to `uid` itself. */
  readonly wrapper?: readonly string[];
  /** PATH. The default is that of a new user's shell. */
  readonly path?: string;
  /** Copy what `source` has installed and built, for tests that are not about a first installation. */
  readonly isInstalled?: boolean;
}

export interface Outcome {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface KillOptions {
  /**
   * When a line of the output matches, the process group gets `signal`, as by a terminal's Ctrl-C. The
   * default is SIGKILL.
   */
  readonly killAfterLine?: RegExp;
  readonly signal?: NodeJS.Signals;
}

/** A fresh clone with an empty HOME, owned by the user of its commands. */
export class Checkout {
  readonly #top: string;
  #name = 'clone';
  readonly #options: CheckoutOptions;

  private constructor(top: string, options: CheckoutOptions) {
    this.#top = top;
    this.#options = options;
  }

  get directory(): string {
    return join(this.#top, this.#name);
  }

  /** Clones HEAD of `source`. */
  static async clone(source: string, options: CheckoutOptions = {}): Promise<Checkout> {
    const { uid, isInstalled = false } = options;
    const top = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-line-'));
    const checkout = new Checkout(top, options);
    await run('git', ['clone', '--quiet', '--no-hardlinks', source, checkout.directory]);
    if (isInstalled) {
      const made = ['node_modules', 'dist'].map((directory) => join(source, directory));
      await run('cp', ['-a', ...made, checkout.directory]);
    }
    await mkdir(join(top, 'home'));
    if (uid !== undefined) {
      await run('chown', ['-R', `${uid}:${uid}`, top]);
      await chown(top, uid, uid);
    }
    return checkout;
  }

  /** Renames the clone as its user's `mv` would. */
  async move(): Promise<void> {
    const from = this.directory;
    this.#name += '-moved';
    await rename(from, this.directory);
  }

  /**
   * Runs an npm script (`['start']`, `['run', 'status']`) with stdin closed. Never rejects for an exit code.
   */
  npm(args: readonly string[], options: KillOptions = {}): Promise<Outcome> {
    return this.command('npm', args, options);
  }

  command(
    program: string,
    args: readonly string[],
    { killAfterLine, signal = 'SIGKILL' }: KillOptions = {},
  ): Promise<Outcome> {
    const { uid, wrapper = [], path = strangersPath() } = this.#options;
    const [first = program, ...rest] = [...wrapper, program, ...args];
    const child = spawn(first, rest, {
      cwd: this.directory,
      env: { PATH: path, HOME: join(this.#top, 'home'), LANG: 'C.UTF-8' },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
      ...(uid === undefined || wrapper.length > 0 ? {} : { uid, gid: uid }),
    });
    let stdout = '';
    let stderr = '';
    let killed = false;
    const inspect = (text: string): void => {
      if (killed || killAfterLine?.test(text) !== true || child.pid === undefined) return;
      killed = true;
      process.kill(-child.pid, signal);
    };
    child.stdout.setEncoding('utf8').on('data', (text: string) => inspect((stdout += text)));
    child.stderr.setEncoding('utf8').on('data', (text: string) => inspect((stderr += text)));
    return new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (exitCode) => resolve({ exitCode, stdout, stderr }));
    });
  }

  async edit(path: string, change: (text: string) => string): Promise<void> {
    const file = join(this.directory, path);
    await writeFile(file, change(await readFile(file, 'utf8')));
  }

  async readJson(path: string): Promise<Record<string, unknown>> {
    return JSON.parse(await readFile(join(this.directory, path), 'utf8')) as Record<string, unknown>;
  }

  /**
   * Returns the processes of this machine that name this clone in their arguments or have a mount from it, as
   * its pods do.
   */
  processes(): Promise<MachineProcess[]> {
    return processesOf(this.#top);
  }

  /** Returns the mounts of this clone that are visible on the machine. */
  mounts(): Promise<string[]> {
    return mountsOf(this.#top);
  }

  /**
   * Returns files and directories of the clone that are not in git, except those of an installation and a
   * build.
   */
  async untracked(): Promise<string[]> {
    const args = ['-c', `safe.directory=${this.directory}`, '-C', this.directory];
    const { stdout } = await run('git', [...args, 'status', '--porcelain', '--ignored']);
    return stdout
      .split('\n')
      .filter((line) => /^(!!|\?\?)/.test(line) && !/^.. (node_modules|dist)\//.test(line))
      .map((line) => line.slice(3));
  }

  async remove(): Promise<void> {
    await rm(this.#top, { recursive: true, force: true });
  }
}

/**
 * Returns PATH without the directories that npm prepends for a script. A new user's shell has none of them.
 */
export function strangersPath(): string {
  const directories = (process.env['PATH'] ?? '').split(':');
  return directories
    .filter((directory) => !directory.includes('node_modules') && !directory.includes('node-gyp-bin'))
    .join(':');
}
