/**
 * A body that can be sent again from its start: after a challenge, or if a registry was not able to accept
 * it.
 */
export interface SentBody {
  /** Bytes. */
  readonly size: number;
  open(): AsyncIterable<Uint8Array>;
}

export interface RegistryRequest {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: SentBody;
  /**
   * On abort the request is still finished (within some seconds), because a registry loses an upload whose
   * chunk was cut, and such an upload cannot be canceled.
   */
  readonly isFinished?: boolean;
}

export interface RegistryAnswer {
  readonly status: number;
  /** Names are in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The whole body: registries respond to this client with manifests and errors, never with blobs. */
  readonly body: Buffer;
  /** The host that responded, if it is another one, to which the registry redirected the request. */
  readonly sentBy?: string;
}

/**
 * Port: one HTTP exchange. Rejects with ConnectionFailure if no whole response arrived, and with the body's
 * error if the body could not be read.
 */
export interface RegistryTransport {
  send(request: RegistryRequest): Promise<RegistryAnswer>;
  close(): void;
}

/** No complete response arrived. The request may still have arrived. */
export class ConnectionFailure extends Error {
  override readonly name = 'ConnectionFailure';
  /** The server's certificate, or the configured one, was rejected: a retry would not help. */
  readonly isFinal: boolean;

  constructor(message: string, options: { readonly isFinal: boolean; readonly cause: unknown }) {
    super(message, { cause: options.cause });
    this.isFinal = options.isFinal;
  }
}

/** The bytes are passed to TLS in slices, because TLS keeps a copy of the bytes that it was given. */
const sliceSize = 256 * 1024;

/** Returns a body of these bytes. */
export function bytesBody(bytes: Uint8Array): SentBody {
  return {
    size: bytes.length,
    open: async function* open() {
      for (let at = 0; at < bytes.length; at += sliceSize) yield bytes.subarray(at, at + sliceSize);
    },
  };
}
