/** A body that can be sent again from its start: after a challenge, or when a registry was not able to take it. */
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
   * A caller that goes waits for its end, some seconds: a registry that got a part of it knows nothing more of the upload, which
   * then cannot be taken back.
   */
  readonly isFinished?: boolean;
}

export interface RegistryAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Whole: registries answer us with manifests and errors, never with blobs. */
  readonly body: Buffer;
  /** The host that answered if it is not the registry, which had sent the request there. */
  readonly sentBy?: string;
}

/**
 * Port: one HTTP exchange. Rejects with ConnectionFailure where no whole answer came, and with what the body threw
 * where it could not be read.
 */
export interface RegistryTransport {
  send(request: RegistryRequest): Promise<RegistryAnswer>;
  close(): void;
}

/** No whole answer came. What was sent may have arrived all the same. */
export class ConnectionFailure extends Error {
  override readonly name = 'ConnectionFailure';
  /** The server's certificate or ours was refused: no other try will go better. */
  readonly isFinal: boolean;

  constructor(words: string, options: { readonly isFinal: boolean; readonly cause: unknown }) {
    super(words, { cause: options.cause });
    this.isFinal = options.isFinal;
  }
}

/** In slices: what is handed to TLS at once is in memory twice. */
const sliceSize = 256 * 1024;

/** The bytes themselves as a body. */
export function bytesBody(bytes: Uint8Array): SentBody {
  return {
    size: bytes.length,
    open: async function* open() {
      for (let at = 0; at < bytes.length; at += sliceSize) yield bytes.subarray(at, at + sliceSize);
    },
  };
}
