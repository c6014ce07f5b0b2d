import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const buildScript = fileURLToPath(new URL('../../../scripts/build-static-ip.ts', import.meta.url));

/** Why the executable cannot be tested here, as the reason to skip. */
export const executableIsMissing: string | false =
  !(process.platform === 'linux' && process.arch === 'x64') && 'needs Linux on x86-64';

export interface BuiltExecutable {
  readonly path: string;
  readonly remove: () => Promise<void>;
}

/** Builds the executable as it is shipped, in its own folder. */
export async function buildExecutable(): Promise<BuiltExecutable> {
  const directory = await mkdtemp(join(tmpdir(), 'static-ip-'));
  const done = spawnSync(process.execPath, [buildScript, directory], { encoding: 'utf8' });
  if (done.status !== 0) throw new Error(`the executable was not built: ${done.stderr}`);
  return {
    path: join(directory, 'static-ip'),
    remove: () => rm(directory, { recursive: true, force: true }),
  };
}

export interface ProcessOutcome {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number | null;
}

export interface ProcessOptions {
  readonly environment?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
  readonly input?: string | Uint8Array;
  readonly directory?: string;
}

/** Runs one process with only that environment, and returns its output and exit code. */
export async function runExecutable(program: string, options: ProcessOptions = {}): Promise<ProcessOutcome> {
  const child = spawn(program, [...(options.args ?? [])], {
    env: { ...options.environment },
    cwd: options.directory ?? '/',
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const closed = new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  // a process may exit before it has read everything
  child.stdin.on('error', () => {});
  child.stdin.end(options.input ?? '');
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
  return { stdout, stderr, code };
}
