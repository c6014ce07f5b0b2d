import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

export interface Measured {
  readonly stdout: string;
  readonly wallMs: number;
  /** User and system time of the process. */
  readonly cpuMs: number;
}

/** bash has a clock and the CPU times of its children; Node has no CPU times of a process that has ended. */
const script = 'began=$EPOCHREALTIME; "$@"; ended=$EPOCHREALTIME; echo "$began $ended" >&2; times >&2';

/** Runs one program with that stdin, in the environment that a director passes to a CPI. */
export async function runMeasured(command: readonly string[], stdin: string): Promise<Measured> {
  const child = spawn('bash', ['-c', script, 'measured', ...command], {
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stdin.end(stdin);
  const [stdout, notes] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [clock = '', , children = ''] = notes.trim().split('\n').slice(-3);
  const [began = 0, ended = 0] = clock.split(' ').map(Number);
  const cpu = [...children.matchAll(/(\d+)m([\d.]+)s/gu)].map(
    ([, minutes, seconds]) => Number(minutes) * 60 + Number(seconds),
  );
  return { stdout, wallMs: (ended - began) * 1000, cpuMs: cpu.reduce((sum, part) => sum + part, 0) * 1000 };
}
