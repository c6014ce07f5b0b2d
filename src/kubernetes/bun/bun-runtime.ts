/** The part of Bun's socket API that we use (bun.com/docs/api/tcp); Bun's own types are not among our packages. */
export interface BunSocket {
  /** Returns how many bytes were taken, -1 on a closed socket; `drain` tells when to go on. */
  write(bytes: Uint8Array): number;
  end(): void;
  /** Closes at once, with a reset. */
  terminate(): void;
  pause(): void;
  resume(): void;
}

export interface BunSocketHandlers {
  readonly open: (socket: BunSocket) => void;
  /** `authorized` is false where chain or name do not verify; the socket is open all the same. */
  readonly handshake: (socket: BunSocket, authorized: boolean, error: Error | null) => void;
  readonly data: (socket: BunSocket, bytes: Uint8Array) => void;
  readonly drain: (socket: BunSocket) => void;
  readonly end: (socket: BunSocket) => void;
  readonly close: (socket: BunSocket) => void;
  readonly error: (socket: BunSocket, error: Error) => void;
  readonly connectError: (socket: BunSocket, error: Error) => void;
}

export interface BunTls {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly serverName?: string;
  readonly rejectUnauthorized: true;
}

export interface BunConnectOptions {
  readonly hostname: string;
  readonly port: number;
  readonly tls: BunTls;
  readonly socket: BunSocketHandlers;
}

export interface BunRuntime {
  connect(options: BunConnectOptions): Promise<unknown>;
}

/** Bun's API, where this process is Bun. */
export function bunRuntime(): BunRuntime | undefined {
  return (globalThis as { readonly Bun?: BunRuntime }).Bun;
}
