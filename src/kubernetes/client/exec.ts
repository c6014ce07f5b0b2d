import { ProductError } from '../../errors/product-error.ts';
import type { Access } from '../access/access.ts';
import { ApiError } from './api-error.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { openExecSocket } from './web-socket.ts';
import type { Status } from '../object.ts';
import { resourcePath, pods } from '../resources.ts';

export interface ExecTarget {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
}

export interface ExecCommand extends ExecTarget {
  /**
   * The argument vector; no shell is added. The API server's audit log shows it, so it must not contain
   * secrets.
   */
  readonly command: readonly string[];
}

export interface ExecOptions extends ExecCommand {
  readonly stdin?: string;
  readonly deadlineMs: number;
  readonly clock?: Clock;
}

export interface ExecResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Channels of v5.channel.k8s.io (kubernetes: apimachinery pkg/util/remotecommand/constants.go). */
export const channel = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;
const maximumOutputBytes = 4 * 1024 * 1024;

/**
 * Runs a command in a container and waits for its end. A non-zero exit code is a result, not an error.
 *
 * Rejects with ApiError if the API server refuses the request or the container cannot run the command, with
 * KUBERNETES_UNREACHABLE if the connection fails, and with DEADLINE after `deadlineMs` (the command may still
 * be running then). Loads the WebSocket library, so import this file only if a verb needs it.
 */
export async function execInPod(access: Access, options: ExecOptions): Promise<ExecResult> {
  const clock = options.clock ?? systemClock;
  const socket = await openExecSocket(access, execPath(options, { stdin: options.stdin !== undefined }));
  const finished = new AbortController();
  const timeout = clock.sleep(options.deadlineMs, finished.signal).then(() => {
    throw new ProductError(
      'DEADLINE',
      `waited ${options.deadlineMs / 1000} s for a command in container ${options.container} of pod ${options.namespace}/${options.pod}; check that kubectl exec answers there, then run the call again`,
    );
  });
  const run = async (): Promise<ExecResult> => {
    await socket.opened;
    if (options.stdin !== undefined) {
      void socket.send(frame(channel.stdin, Buffer.from(options.stdin)));
      void socket.send(Uint8Array.of(channel.close, channel.stdin));
    }
    return collect(socket.messages, options);
  };
  try {
    return await Promise.race([run(), timeout]);
  } finally {
    timeout.catch(() => undefined);
    finished.abort();
    socket.terminate();
  }
}

/** Returns the path of the request. With a terminal there is no stderr: the terminal shows both outputs. */
export function execPath(
  { namespace, pod, container, command }: ExecCommand,
  { stdin, tty = false }: { readonly stdin: boolean; readonly tty?: boolean },
): string {
  const query = new URLSearchParams({ container, stdout: 'true', [tty ? 'tty' : 'stderr']: 'true' });
  if (stdin) {
    query.set('stdin', 'true');
  }
  for (const argument of command) {
    query.append('command', argument);
  }
  return `${resourcePath(pods, namespace, pod, 'exec')}?${query.toString()}`;
}

async function collect(messages: AsyncIterable<Uint8Array>, options: ExecOptions): Promise<ExecResult> {
  const output: Record<'stdout' | 'stderr' | 'error', Uint8Array[]> = { stdout: [], stderr: [], error: [] };
  let length = 0;
  for await (const message of messages) {
    const name = nameOfChannel(message[0]);
    if (name === undefined) {
      continue;
    }
    length += message.length;
    if (length > maximumOutputBytes) {
      throw new ProductError(
        'KUBERNETES_API',
        `a command in pod ${options.namespace}/${options.pod} printed more than ${maximumOutputBytes} bytes; see what runs in its image, then run the call again`,
      );
    }
    output[name].push(message.subarray(1));
    if (name === 'error') {
      break;
    }
  }
  return {
    exitCode: exitCodeOf(text(output.error), options),
    stdout: text(output.stdout),
    stderr: text(output.stderr),
  };
}

export function nameOfChannel(byte: number | undefined): 'stdout' | 'stderr' | 'error' | undefined {
  switch (byte) {
    case channel.stdout:
      return 'stdout';
    case channel.stderr:
      return 'stderr';
    case channel.error:
      return 'error';
    default:
      return undefined;
  }
}

/**
 * Reads the exit code from the Status of the error channel: Success, NonZeroExitCode with the code as a
 * cause, or a failure to run the command.
 */
export function exitCodeOf(errorChannel: string, options: ExecTarget): number {
  if (errorChannel === '') {
    throw new ProductError(
      'KUBERNETES_UNREACHABLE',
      `the connection to a command in pod ${options.namespace}/${options.pod} ended before its exit code came; run the call again`,
    );
  }
  const status = JSON.parse(errorChannel) as Status;
  if (status.status === 'Success') {
    return 0;
  }
  const code = status.details?.causes?.find(({ reason }) => reason === 'ExitCode')?.message;
  if (status.reason === 'NonZeroExitCode' && code !== undefined) {
    return Number(code);
  }
  throw new ApiError({ ...status, code: status.code ?? 500 });
}

export function frame(number: number, data: Uint8Array): Uint8Array {
  return Buffer.concat([Uint8Array.of(number), data]);
}

function text(chunks: readonly Uint8Array[]): string {
  return Buffer.concat(chunks).toString('utf8');
}

/** A command of a POSIX shell. The arguments after the script are its $0, $1 and so on. */
export type ShellCommand = readonly [shell: '/bin/sh', flag: '-c', script: string, ...words: string[]];

export interface ScriptOptions extends Omit<ExecOptions, 'command' | 'stdin'> {
  /** The API server's audit log shows it, so it must not contain secrets. */
  readonly command: ShellCommand;
}

/** The exit code that stands for success on the wire. No script uses it for anything else. */
export const successExit = 20;
const successTrailer = `trap '[ "$?" -ne 0 ] || exit ${successExit}' EXIT\n`;

/**
 * Runs a shell script in a container and waits for its end, as `execInPod` does. Exit code 0 means that the
 * script ran to its end. An API server also reports success for a command whose container runtime was killed
 * (client-go: tools/remotecommand/errorstream.go takes an error stream that ends without a message for
 * success); here that rejects with KUBERNETES_UNREACHABLE.
 */
export async function runScript(access: Access, options: ScriptOptions): Promise<ExecResult> {
  const [shell, flag, script, ...args] = options.command;
  const result = await execInPod(access, {
    ...options,
    command: [shell, flag, successTrailer + script, ...args],
  });
  if (result.exitCode === 0)
    throw new ProductError(
      'KUBERNETES_UNREACHABLE',
      `a command in pod ${options.namespace}/${options.pod} was ended before it reported its exit code; run the call again`,
    );
  return result.exitCode === successExit ? { ...result, exitCode: 0 } : result;
}
