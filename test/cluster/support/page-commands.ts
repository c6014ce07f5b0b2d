import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { checkout } from '../../support/embedded-environment.ts';

/** A command of a page, and the output that the page shows. */
export interface PageCommand {
  readonly command: string;
  readonly output: string;
}

/** A `console` block of a page. */
interface PageBlock {
  /** The heading of its section. */
  readonly heading: string;
  readonly commands: readonly PageCommand[];
}

/**
 * Returns the `console` blocks of a Markdown page. A command is a line after `$ ` with the lines of its
 * here-document.
 */
export function blocksOf(page: string): PageBlock[] {
  return page.split(/^## /mu).flatMap((section) => {
    const heading = section.slice(0, section.indexOf('\n')).trim();
    const blocks = section.matchAll(/^```console\n(.*?)^```$/gmsu);
    return [...blocks].map(([, block = '']) => ({ heading, commands: commandsOf(block) }));
  });
}

function commandsOf(block: string): PageCommand[] {
  return block
    .split(/^\$ /mu)
    .slice(1)
    .map((part) => {
      const [, word] = /^[^\n]*<<(\w+)\n/u.exec(part) ?? [];
      const end =
        word === undefined ? part.indexOf('\n') : part.indexOf('\n', part.indexOf(`\n${word}\n`) + 1);
      return { command: part.slice(0, end), output: part.slice(end + 1) };
    });
}

interface ShellOptions {
  /** The path where the script is written. */
  readonly script: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Kills the running command when it is aborted. */
  readonly signal: AbortSignal;
}

/**
 * Makes a folder in `directory` with this checkout's `bosh-kubernetes`, as docs/installing.md describes it.
 * Returns it for PATH.
 */
export async function ownCommandPath(directory: string): Promise<string> {
  const folder = join(directory, '.path');
  await mkdir(folder, { recursive: true });
  const link = join(folder, 'bosh-kubernetes');
  await rm(link, { force: true });
  await symlink(join(checkout, 'bin', 'bosh-kubernetes.mjs'), link);
  return folder;
}

/**
 * Runs commands in one bash, which finds `bosh-kubernetes`, until one fails. Returns the stdout of each.
 * Rejects with all output.
 */
export async function runInShell(
  commands: readonly string[],
  { script, cwd, env, signal }: ShellOptions,
): Promise<string[]> {
  const mark = (index: number): string => `--- command ${index} ---`;
  const lines = commands.map((command, index) => `printf '%s\\n' '${mark(index)}'\n${command}\n`);
  await writeFile(script, `set -euo pipefail\n${lines.join('')}`);
  const PATH = `${await ownCommandPath(dirname(script))}:${env['PATH'] ?? ''}`;
  const child = spawn('bash', [script], {
    ...{ cwd, env: { ...env, PATH }, detached: true },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const { pid } = child;
  const kill = (): boolean => pid !== undefined && process.kill(-pid, 'SIGKILL');
  signal.addEventListener('abort', kill);
  const ended = new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  const [code, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
  signal.removeEventListener('abort', kill);
  assert.equal(code, 0, `${stdout}\n--- stderr ---\n${stderr}`);
  return commands.map((_, index) => {
    const begin = stdout.indexOf(`${mark(index)}\n`) + mark(index).length + 1;
    const end = stdout.indexOf(`${mark(index + 1)}\n`);
    return stdout.slice(begin, end < 0 ? undefined : end);
  });
}
