import type { ProductError } from '../../errors/product-error.ts';
import { Authenticator } from './access/authenticator.ts';
import type { RegistryCredentials } from './access/credentials.ts';
import type {
  RegistryAnswer,
  RegistryRequest,
  RegistryTransport,
  SentBody,
} from './http/registry-transport.ts';
import { ConnectionFailure } from './http/registry-transport.ts';
import type { Patience } from './http/retry-while-passing.ts';
import { attempt, retryWhilePassing, unreachable } from './http/retry-while-passing.ts';
import { registryError } from './registry-error.ts';
import { isAsSafe } from './registry-location.ts';

export interface RegistryClientOptions extends Patience {
  /** `https://host:port` (parseRegistryUrl). */
  readonly origin: string;
  readonly repository: string;
  readonly credentials: RegistryCredentials | undefined;
  /** Makes a client that takes back what was begun, also when the caller has gone; absent: this one does. */
  readonly parting?: () => RegistryClient;
}

/** A request to the registry. `path` is below /v2/<repository>, or a URL that the registry gave. */
export interface Call {
  readonly method: RegistryRequest['method'];
  readonly path: string | URL;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: SentBody;
  /** RegistryRequest's. */
  readonly isFinished?: boolean;
  /** What the right to do is asked for; default: pull and push. */
  readonly actions?: 'pull' | 'pull,push' | 'pull,delete';
  /** Another repository that is read, for a mount. */
  readonly from?: string;
  /** For errors: `upload of sha256:…`. */
  readonly what: string;
}

/** One repository of one registry (OCI distribution-spec 1.1): authenticates, tries again, and says what went wrong. */
export class RegistryClient {
  readonly repository: string;
  readonly host: string;
  readonly patience: Patience;
  readonly #origin: string;
  readonly #transport: RegistryTransport;
  readonly #authenticator: Authenticator;
  readonly #parting: (() => RegistryClient) | undefined;

  constructor({ origin, repository, credentials, parting, ...patience }: RegistryClientOptions) {
    this.#parting = parting;
    this.repository = repository;
    this.host = new URL(origin).host;
    this.patience = patience;
    this.#origin = origin;
    this.#transport = patience.transport;
    this.#authenticator = new Authenticator({ origin, credentials, patience });
  }

  /** The answer to a call that may be sent twice, whatever its status. Rejects with REGISTRY_UNREACHABLE or REGISTRY_UNAUTHORIZED. */
  async call(call: Call): Promise<RegistryAnswer> {
    return this.#authorized(call, (request) =>
      retryWhilePassing(this.patience, request, `the registry ${this.host}`),
    );
  }

  /** One try, for a call that must not be sent twice blindly: a broken connection is a value. */
  async callOnce(call: Call): Promise<RegistryAnswer | ConnectionFailure> {
    return this.#authorized(call, (request) => attempt(this.#transport, request));
  }

  /** The same, also after the signal that ends everything else. */
  async callLast(call: Call): Promise<RegistryAnswer | ConnectionFailure> {
    const last = this.#parting?.();
    if (last === undefined) return this.callOnce(call);
    try {
      return await last.callOnce(call);
    } finally {
      last.close();
    }
  }

  /** Where an answer's Location leads. Throws REGISTRY_ERROR where that is less safe than the registry. */
  location(answer: RegistryAnswer, call: Call): URL {
    const text = answer.headers['location'];
    const base = this.#url(call);
    if (text === undefined || !URL.canParse(text, base.href))
      throw this.error(answer, call.what, 'it named no location to go on with');
    const url = new URL(text, base);
    if (!isAsSafe(base, url))
      throw this.error(
        answer,
        call.what,
        base.protocol === 'https:'
          ? 'its location is not https: the proxy before it has to tell it (X-Forwarded-Proto)'
          : `its location is plain http on another host, ${url.host}`,
      );
    return url;
  }

  /** The error for an answer that is not the one wanted; never quotes a URL's query or our secrets. */
  error(answer: RegistryAnswer, what: string, note?: string): ProductError {
    const place = `registry ${this.host}, repository ${this.repository}: ${what}`;
    return registryError(answer, place, { note, redact: (text) => this.#authenticator.redact(text) });
  }

  unreachable(failure: ConnectionFailure, what: string, tries: number): ProductError {
    return unreachable(`the registry ${this.host} (${what})`, failure, tries);
  }

  close(): void {
    this.#transport.close();
  }

  /** Sends the call with what we know, and once more with what a challenge asks for. */
  async #authorized<T extends RegistryAnswer | ConnectionFailure>(
    call: Call,
    send: (request: RegistryRequest) => Promise<T>,
  ): Promise<T> {
    const scopes = [
      `repository:${this.repository}:${call.actions ?? 'pull,push'}`,
      ...(call.from === undefined ? [] : [`repository:${call.from}:pull`]),
    ];
    const first = await send(this.#request(call, scopes));
    if (first instanceof ConnectionFailure || first.status !== 401) return first;
    if (!this.#isOurs(this.#url(call))) throw this.error(first, call.what);
    await this.#authenticator.meet(first, scopes);
    const second = await send(this.#request(call, scopes));
    if (!(second instanceof ConnectionFailure) && second.status === 401) throw this.error(second, call.what);
    return second;
  }

  #request(call: Call, scopes: readonly string[]): RegistryRequest {
    const url = this.#url(call);
    // upload locations may be of another host, which signs its URLs and is none of our credentials' business
    const authorization = this.#isOurs(url) ? this.#authenticator.authorization(scopes) : undefined;
    return {
      method: call.method,
      url,
      headers: {
        'user-agent': 'bosh-kubernetes',
        ...call.headers,
        ...(authorization !== undefined && { authorization }),
      },
      ...(call.body !== undefined && { body: call.body }),
      ...(call.isFinished !== undefined && { isFinished: call.isFinished }),
    };
  }

  #url({ path }: Call): URL {
    return typeof path === 'string' ? new URL(`/v2/${this.repository}/${path}`, this.#origin) : path;
  }

  #isOurs(url: URL): boolean {
    return url.origin === new URL(this.#origin).origin;
  }
}
