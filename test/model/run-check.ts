import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { runWell } from '../support/run.ts';
import type { Check } from './checks.ts';

export interface Outcome {
  readonly kind: 'holds' | 'counterexample' | 'incomplete';
  readonly states: number;
  readonly seconds: number;
  /** The steps of a counterexample as text, or why the search was not completed. */
  readonly lines: readonly string[];
}

export interface Limits {
  readonly memoryMiB: number;
  readonly seconds: number;
}

/**
 * Searches all states of a check. Works in a temporary folder, which it removes. Rejects if a program cannot
 * run.
 */
export async function runCheck(root: string, check: Check, limits: Limits): Promise<Outcome> {
  const directory = await mkdtemp(join(tmpdir(), 'model-'));
  try {
    const model = basename(check.model);
    await copyFile(join(root, check.model), join(directory, model));
    const defines = check.flags.split(' ').map((flag) => `-D${flag}`);
    const inDirectory = { cwd: directory };
    await runWell(['spin', ...defines, '-a', model], inDirectory);
    // With -O2, gcc takes longer for a verifier than nearly all verifiers of CI take for their search.
    const optimization = check.runs === 'in CI' ? '-O0' : '-O2';
    const compiler = [optimization, '-w', '-DCOLLAPSE', '-DVECTORSZ=4096', `-DMEMLIM=${limits.memoryMiB}`];
    await runWell(['gcc', ...compiler, ...check.compiler.split(' '), '-o', 'pan', 'pan.c'], inDirectory);
    const begin = performance.now();
    const text = await search(directory, check.verifier.split(' '), limits.seconds);
    const seconds = (performance.now() - begin) / 1000;
    const states = Number(/([\d.e+]+) states, stored/u.exec(text)?.[1] ?? 0);
    if (await exists(join(directory, `${model}.trail`)))
      return { kind: 'counterexample', states, seconds, lines: await trace(directory, defines, model) };
    const isComplete =
      /errors: 0$/mu.test(text) && !/Search not completed|max search depth too small/u.test(text);
    if (isComplete) return { kind: 'holds', states, seconds, lines: [] };
    return { kind: 'incomplete', states, seconds, lines: text.trim().split('\n').slice(0, 12) };
  } finally {
    await rm(directory, { recursive: true });
  }
}

/**
 * Returns the output of the verifier. It ends with code 0 also if it found a counterexample, and with another
 * one at its limits.
 */
function search(directory: string, args: readonly string[], seconds: number): Promise<string> {
  const options = { cwd: directory, timeout: seconds * 1000, maxBuffer: 64 * 1024 * 1024 };
  return new Promise((resolve) => {
    execFile('./pan', args, options, (error, stdout, stderr) => {
      resolve(error === null ? stdout : `${stdout}${stderr}\nSearch not completed: ${error.message}`);
    });
  });
}

/** Returns the lines that begin with `@`: the models print one at each step that a reader must see. */
async function trace(directory: string, defines: readonly string[], model: string): Promise<string[]> {
  const text = await runWell(['spin', ...defines, '-t', '-T', model], { cwd: directory });
  const steps = text.split('\n').filter((line) => /^\s*@|assertion|timeout|cycle|end state/iu.test(line));
  return steps.map((line) => line.trim().replace(/^@ /u, ''));
}

const exists = async (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );
