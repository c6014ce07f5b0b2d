import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

export interface Contestant {
  readonly name: string;
  readonly command: readonly string[];
}

/** Milliseconds from the start of the process to its end. */
export interface Times {
  readonly name: string;
  readonly min: number;
  readonly median: number;
}

/** Runs all contestants in turn, `runs` times, after one warm-up each. An answer that is an error ends the benchmark. */
export async function measure(
  contestants: readonly Contestant[],
  input: string,
  runs: number,
): Promise<Times[]> {
  const samples = contestants.map((contestant) => ({ contestant, times: new Array<number>() }));
  for (const { contestant } of samples) await runOnce(contestant, input);
  for (let run = 0; run < runs; run += 1) {
    for (const { contestant, times } of samples) times.push(await runOnce(contestant, input));
  }
  return samples.map(({ contestant, times }) => {
    const sorted = times.toSorted((one, other) => one - other);
    return { name: contestant.name, min: sorted[0] ?? 0, median: sorted[Math.floor(sorted.length / 2)] ?? 0 };
  });
}

async function runOnce({ name, command }: Contestant, input: string): Promise<number> {
  const [program = '', ...words] = command;
  const began = performance.now();
  // the environment that a director leaves to a CPI
  const child = spawn(program, words, { env: { PATH: '/usr/bin:/bin' }, stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise<number>((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', () => resolve(performance.now()));
  });
  child.stdin.end(input);
  const [output, end] = await Promise.all([text(child.stdout), ended]);
  const { error } = JSON.parse(output) as { error: unknown };
  if (error !== null) throw new Error(`${name} answered ${output}`);
  return end - began;
}
