import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { maxCpiRecordBytes } from '../../src/bosh/cpi-record.ts';
import type { CpiResponse } from '../../src/cpi/protocol/protocol.ts';
import { parseTraceCall, type TraceCall } from '../../src/trace/trace-call.ts';

export interface Artefact {
  readonly name: string;
  readonly command: readonly string[];
  /** The variables that the job's bin/cpi sets for it. */
  readonly environment?: NodeJS.ProcessEnv;
}

export interface CallOptions {
  /** The path of the config file; undefined: no file. */
  readonly config?: string;
  /** Default: the environment that a director leaves to a CPI. */
  readonly environment?: NodeJS.ProcessEnv;
  readonly directory?: string;
  /** The file descriptor of the process's stderr. Default: a pipe that is read to its end. */
  readonly stderr?: number;
  /** Called as soon as the process runs. */
  readonly onStart?: (child: ChildProcess) => void;
}

export interface Outcome {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number | null;
}

/** Runs one process, from stdin to exit. */
export async function runCpi(
  artefact: Artefact,
  input: string | Buffer,
  options: CallOptions = {},
): Promise<Outcome> {
  const [program = '', ...args] = [
    ...artefact.command,
    ...(options.config === undefined ? [] : [options.config]),
  ];
  const child = spawn(program, args, {
    env: options.environment ?? {
      PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
      TMPDIR: '/tmp',
      HOME: '/nonexistent',
      ...artefact.environment,
    },
    cwd: options.directory ?? '/',
    stdio: ['pipe', 'pipe', options.stderr ?? 'pipe'],
  });
  const { stdin, stdout: output, stderr: errors } = child;
  assert.ok(stdin !== null && output !== null);
  const closed = new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  options.onStart?.(child);
  stdin.end(input);
  const [stdout, stderr, code] = await Promise.all([
    text(output),
    errors === null ? '' : text(errors),
    closed,
  ]);
  return { stdout, stderr, code };
}

/** Checks that a log is the record of one call, and returns that. */
export function assertOneRecord(stderr: string): TraceCall {
  assert.match(stderr, /^\{"bosh_kubernetes_cpi":1,[^\n]*\}\n$/u);
  assert.ok(Buffer.byteLength(stderr) <= maxCpiRecordBytes);
  const parsed = parseTraceCall(stderr);
  assert.ok(parsed !== undefined, stderr);
  return parsed;
}

/** Runs a request, given as text, and checks that the output has the form of every response. */
export async function call(
  artefact: Artefact,
  request: string | object,
  options: CallOptions = {},
): Promise<CpiResponse> {
  const input = typeof request === 'string' ? request : JSON.stringify(request);
  const outcome = await runCpi(artefact, input, options);
  assert.equal(outcome.code, 0, outcome.stderr);
  // a call reports what it waits for
  assertOneRecord(outcome.stderr.replaceAll(/^waiting for .*\n/gmu, ''));
  const response = JSON.parse(outcome.stdout) as CpiResponse;
  assert.deepEqual(Object.keys(response).toSorted(), ['error', 'log', 'result']);
  assert.equal(typeof response.log, 'string');
  if (response.error !== null) {
    assert.equal(response.result, null);
    assert.equal(typeof response.error.type, 'string');
    assert.equal(typeof response.error.message, 'string');
    assert.equal(typeof response.error.ok_to_retry, 'boolean');
  }
  return response;
}

/**
 * Returns why an artefact cannot be tested here, as the reason of a skip: the executable is for one platform.
 */
export function isMissing(name: 'executable' | 'bundle'): string | false {
  return (
    name === 'executable' &&
    !(process.platform === 'linux' && process.arch === 'x64') &&
    'needs Linux on x86-64'
  );
}
