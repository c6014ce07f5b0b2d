import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

export interface Contestant {
  readonly name: string;
  readonly command: readonly string[];
  /** `NAME=value`, in addition to the PATH that a director passes to a CPI. */
  readonly environment: readonly string[];
}

interface Program {
  readonly command: readonly string[];
  readonly environment: readonly string[];
}

/** Milliseconds from the start of the process to its end. */
export interface Times {
  readonly name: string;
  readonly min: number;
  readonly median: number;
}

interface Sample {
  readonly ms: number;
  readonly output: string;
}

/**
 * Runs all contestants in turn, `runs` times, after one warm-up each. Rejects if a response is an error.
 * `stopwatch` is the program of the folder of that name; without it Node starts the contestants, which adds
 * about 2 ms to each.
 */
export async function measure(
  contestants: readonly Contestant[],
  { input, runs, stopwatch }: { input: string; runs: number; stopwatch: string | undefined },
): Promise<Times[]> {
  const programs = contestants.map(({ command, environment }) => ({
    command,
    environment: ['PATH=/usr/bin:/bin', ...environment],
  }));
  const samples =
    stopwatch === undefined
      ? await startByNode(programs, input, runs)
      : await startByStopwatch(stopwatch, { programs, input, runs });
  return contestants.map(({ name }, index) => {
    const taken = samples[index] ?? [];
    for (const { output } of taken) checkAnswer(name, output);
    const sorted = taken.map(({ ms }) => ms).toSorted((one, other) => one - other);
    return { name, min: sorted[0] ?? 0, median: sorted[Math.floor(sorted.length / 2)] ?? 0 };
  });
}

async function startByStopwatch(stopwatch: string, plan: object): Promise<Sample[][]> {
  const child = spawn(stopwatch, [], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(JSON.stringify(plan));
  const [code, output] = await Promise.all([
    new Promise((resolve, reject) => child.on('error', reject).on('close', resolve)),
    text(child.stdout),
  ]);
  if (code !== 0) throw new Error(`the stopwatch ended with ${String(code)}`);
  return (JSON.parse(output) as { samples: Sample[][] }).samples;
}

async function startByNode(programs: readonly Program[], input: string, runs: number): Promise<Sample[][]> {
  const samples = programs.map(() => new Array<Sample>());
  for (let round = -1; round < runs; round += 1) {
    for (const [index, program] of programs.entries()) {
      const sample = await runOnce(program, input);
      if (round >= 0) samples[index]?.push(sample);
    }
  }
  return samples;
}

async function runOnce({ command, environment }: Program, input: string): Promise<Sample> {
  const [program = '', ...args] = command;
  const env = Object.fromEntries(environment.map((pair) => pair.split('=', 2) as [string, string]));
  const began = performance.now();
  const child = spawn(program, args, { env, stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise<number>((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', () => resolve(performance.now()));
  });
  child.stdin.end(input);
  const [output, end] = await Promise.all([text(child.stdout), ended]);
  return { ms: end - began, output };
}

function checkAnswer(name: string, output: string): void {
  const { error } = JSON.parse(output) as { error: unknown };
  if (error !== null) throw new Error(`${name} returned ${output}`);
}
