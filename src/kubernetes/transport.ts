export interface TransportRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The path below the server's URL (whose own path stays in front). Begins with a slash. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>> | undefined;
  readonly body?: string | undefined;
  readonly contentType?: string | undefined;
  /** Aborts the request, which then rejects with the signal's reason. */
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
  /** Rejects like `request` if the connection breaks. Leaving the loop closes the connection. */
  readonly chunks: AsyncIterable<Uint8Array>;
}

/**
 * HTTPS to one Kubernetes API with verified TLS.
 *
 * Adapters: `node-https-transport.ts` and, for Bun, `fetch-transport.ts`; both pass
 * `transport-conformance.ts`. Every response of the server is a result, whatever its status. No response is a
 * ProductError KUBERNETES_UNREACHABLE that names host, port and cause. A transport never retries.
 */
export interface Transport {
  /** Sends a request. The whole exchange must end within the transport's `timeoutMs`. */
  request(request: TransportRequest): Promise<TransportResponse>;
  /** Resolves with the head of the response, within `timeoutMs`. The body may take any time. */
  stream(request: TransportRequest): Promise<TransportStream>;
  /** Closes idle connections; open streams end. */
  close(): void;
}

export interface TransportOptions {
  /** The limit for one exchange in milliseconds. */
  readonly timeoutMs?: number;
}

export const defaultTimeoutMs = 30_000;

/** Returns the URL of a request: the server with its path prefix, the path, the query. */
export function requestUrl(server: string, request: TransportRequest): URL {
  const url = new URL(server + request.path);
  for (const [name, value] of Object.entries(request.query ?? {})) {
    url.searchParams.set(name, value);
  }
  return url;
}
