import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';

/** A server in its own Node process. */
export interface ChildServer {
  readonly url: string;
  /** Returns the resident memory in MiB. */
  memory(): Promise<number>;
  stop(): Promise<void>;
}

/** Starts a Node process whose output names its port as `http://127.0.0.1:PORT`. */
export async function startChildServer(args: readonly string[]): Promise<ChildServer> {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const line of createInterface({ input: child.stdout })) {
    const [url] = /http:\/\/127\.0\.0\.1:\d+/u.exec(line) ?? [];
    if (url === undefined) continue;
    child.stdout.resume();
    return { url, memory: () => residentMemory(child.pid), stop: () => stopped(child) };
  }
  throw new Error(`node ${args.join(' ')} ended before it listened`);
}

/** Returns the resident memory of a process in MiB. */
export async function residentMemory(pid: number | undefined): Promise<number> {
  const [, kibibytes] = /^VmRSS:\s+(\d+)/mu.exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kibibytes) / 1024;
}

async function stopped(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
}
