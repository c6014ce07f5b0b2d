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
  /** Ends a follow. */
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

/** A command that runs in a container. `stderr` stays silent with a tty; `exited` never rejects. */
export interface ExecSession {
  readonly stdin: Writable | undefined;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly exited: Promise<{ readonly exitCode: number }>;
  resize(columns: number, rows: number): void;
  kill(): void;
}

/** What the API server asks of a node, as a kubelet's own HTTP server would be asked. Rejects with ApiError. */
export interface PodConsole {
  logs(request: LogRequest): AsyncIterable<Uint8Array>;
  exec(request: ExecRequest): Promise<ExecSession>;
}
