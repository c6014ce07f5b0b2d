import type { Readable, Writable } from 'node:stream';

export interface LogRequest {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  readonly follow: boolean;
  readonly previous: boolean;
  readonly timestamps: boolean;
  readonly tailLines?: number | undefined;
  readonly sinceTime?: Date | undefined;
  readonly limitBytes?: number | undefined;
  /** An abort ends a follow. */
  readonly signal: AbortSignal;
}

export interface ExecRequest {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  readonly command: readonly string[];
  readonly stdin: boolean;
  readonly tty: boolean;
}

/** A command that runs in a container. `stderr` is empty with a tty; `exited` never rejects. */
export interface ExecSession {
  readonly stdin: Writable | undefined;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly exited: Promise<{ readonly exitCode: number }>;
  resize(columns: number, rows: number): void;
  kill(): void;
}

/**
 * The requests of the API server to a node, as it would send them to a kubelet's HTTP server. Rejects with
 * ApiError.
 */
export interface PodConsole {
  logs(request: LogRequest): AsyncIterable<Uint8Array>;
  exec(request: ExecRequest): Promise<ExecSession>;
}
