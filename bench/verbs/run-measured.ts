import { run } from '../../test/support/run.ts';

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
  const env = { PATH: '/usr/bin:/bin', LC_ALL: 'C' };
  const { stdout, stderr } = await run(['bash', '-c', script, 'measured', ...command], { input: stdin, env });
  const [clock = '', , children = ''] = stderr.trim().split('\n').slice(-3);
  const [began = 0, ended = 0] = clock.split(' ').map(Number);
  const cpu = [...children.matchAll(/(\d+)m([\d.]+)s/gu)].map(
    ([, minutes, seconds]) => Number(minutes) * 60 + Number(seconds),
  );
  return { stdout, wallMs: (ended - began) * 1000, cpuMs: cpu.reduce((sum, part) => sum + part, 0) * 1000 };
}
