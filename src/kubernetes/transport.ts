export interface TransportRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below the server's URL (whose own path stays in front), begins with a slash. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>> | undefined;
  readonly body?: string | undefined;
  readonly contentType?: string | undefined;
  /** Rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

export interface TransportResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface TransportStream {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Rejects like `request` when the connection breaks; leaving the loop closes the connection. */
  readonly chunks: AsyncIterable<Uint8Array>;
}

/**
 * HTTPS to one Kubernetes API with its TLS verified.
 *
 * Adapters: `node-https-transport.ts` and, for Bun, `fetch-transport.ts`; both pass `transport-conformance.ts`.
 * Whatever the server answers is a response; no answer is a ProductError KUBERNETES_UNREACHABLE
 * that names host, port and cause. Nothing is retried here.
 */
export interface Transport {
  /** The whole exchange has to be over within the transport's `timeoutMs`. */
  request(request: TransportRequest): Promise<TransportResponse>;
  /** Resolves with the answer's head, within `timeoutMs`; its body may take for ever. */
  stream(request: TransportRequest): Promise<TransportStream>;
  /** Closes idle connections; open streams end. */
  close(): void;
}

export interface TransportOptions {
  /** Milliseconds for one exchange. */
  readonly timeoutMs?: number;
}

export const defaultTimeoutMs = 30_000;

/** The URL of a request: prefix of the server, path, query. */
export function requestUrl(server: string, request: TransportRequest): URL {
  const url = new URL(server + request.path);
  for (const [name, value] of Object.entries(request.query ?? {})) {
    url.searchParams.set(name, value);
  }
  return url;
}
