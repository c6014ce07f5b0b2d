import type { Status } from '../../../src/kubernetes/object.ts';

/**
 * The supported protocols, preferred first. Both have a channel byte before each message; v5 adds the close
 * signal (KEP-4006).
 */
export const execProtocols = ['v5.channel.k8s.io', 'v4.channel.k8s.io'] as const;

/** Channel numbers (apimachinery pkg/util/remotecommand/constants.go). */
export const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;

/** Returns the first of our protocols that the client offers. */
export function chooseProtocol(offered: Iterable<string>): (typeof execProtocols)[number] | undefined {
  const names = new Set(offered);
  return execProtocols.find((protocol) => names.has(protocol));
}

export function encodeChannelMessage(channel: number, data: Uint8Array): Buffer {
  return Buffer.concat([Uint8Array.of(channel), data]);
}

/** Returns the Status that ends the error channel: Success, or NonZeroExitCode with the code as a cause. */
export function exitStatus(exitCode: number): Partial<Status> {
  if (exitCode === 0) return { metadata: {}, status: 'Success' };
  return {
    metadata: {},
    status: 'Failure',
    reason: 'NonZeroExitCode',
    message: `command terminated with non-zero exit code: exit status ${exitCode}`,
    details: { causes: [{ reason: 'ExitCode', message: String(exitCode) }] },
  };
}

/** Parses a TerminalSize message; returns undefined if it is not valid. */
export function parseResize(data: Uint8Array): { columns: number; rows: number } | undefined {
  const [, columns, rows] = /"Width":(\d{1,5}),"Height":(\d{1,5})/.exec(Buffer.from(data).toString()) ?? [];
  return columns === undefined || rows === undefined
    ? undefined
    : { columns: Number(columns), rows: Number(rows) };
}
