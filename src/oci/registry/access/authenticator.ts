import { ProductError } from '../../../errors/product-error.ts';
import { redactor } from '../../../errors/redact/redactor.ts';
import type { RegistryAnswer } from '../http/registry-transport.ts';
import type { RetryPolicy } from '../http/retry.ts';
import { isAtLeastAsSecure } from '../../image-reference.ts';
import { type Challenge, parseChallenge } from './challenge.ts';
import { isObject } from '../../../platform/json.ts';

/** The credentials of a user of the registry. They are secret. Without them, requests are anonymous. */
export interface RegistryCredentials {
  readonly username: string;
  readonly password: string;
}

/** Returns the value of an Authorization header (RFC 7617, UTF-8). */
export function basicAuthorization({ username, password }: RegistryCredentials): string {
  return `Basic ${Buffer.from(`${username}:${password}`, 'utf8').toString('base64')}`;
}

export interface AuthenticatorOptions {
  /** `https://host:port` of the registry. */
  readonly origin: string;
  readonly credentials: RegistryCredentials | undefined;
  readonly retries: RetryPolicy;
}

/**
 * Responds to a registry's challenges: anonymously, with Basic, or with a token of the server that the
 * challenge names. A token is reused for its scopes until the registry rejects it. Without an earlier
 * challenge of this registry, nothing secret is sent.
 */
export class Authenticator {
  readonly #options: AuthenticatorOptions;
  readonly #tokens = new Map<string, string>();
  #usesBasic = false;

  constructor(options: AuthenticatorOptions) {
    this.#options = options;
  }

  /**
   * Returns the Authorization header for a request with these scopes; undefined if the registry has not
   * requested one yet.
   */
  authorization(scopes: readonly string[]): string | undefined {
    const { credentials } = this.#options;
    if (this.#usesBasic && credentials !== undefined) return basicAuthorization(credentials);
    const token = this.#tokens.get(scopes.join(' '));
    return token === undefined ? undefined : `Bearer ${token}`;
  }

  /**
   * Gets the authorization that a 401 requests, so that the request can be sent again. Rejects with
   * REGISTRY_UNAUTHORIZED if there are no credentials for it, and with REGISTRY_UNREACHABLE or REGISTRY_ERROR
   * if the token server returns no token.
   */
  async authenticate(answer: RegistryAnswer, scopes: readonly string[]): Promise<void> {
    const challenge = parseChallenge(answer.headers['www-authenticate']);
    if (challenge === undefined)
      throw this.#unauthorized('refused the request and did not say how to authenticate (no challenge)');
    if (challenge.scheme === 'bearer') {
      this.#tokens.set(scopes.join(' '), await this.#token(challenge, scopes));
      return;
    }
    if (this.#options.credentials === undefined)
      throw this.#unauthorized('requires a user name and a password, and none are configured');
    this.#usesBasic = true;
  }

  /** Removes the credentials and tokens from a text that a server sent. */
  redact(text: string): string {
    const { credentials } = this.#options;
    const pair = credentials === undefined ? [] : [credentials.password, basicAuthorization(credentials)];
    const ofPair = pair.map((secret) => secret.replace(/^Basic /u, ''));
    return redactor({ token: [...this.#tokens.values(), ...ofPair] })(text);
  }

  async #token(
    challenge: Extract<Challenge, { scheme: 'bearer' }>,
    scopes: readonly string[],
  ): Promise<string> {
    const { credentials, retries } = this.#options;
    const url = this.#realm(challenge);
    if (challenge.service !== undefined) url.searchParams.set('service', challenge.service);
    // The challenge's own scope may name an action that is unknown here.
    const requestedScopes = (challenge.scope ?? '').split(' ').filter((scope) => scope !== '');
    for (const scope of new Set([...requestedScopes, ...scopes])) url.searchParams.append('scope', scope);
    const label = `the token server ${url.host} of the registry ${new URL(this.#options.origin).host}`;
    const headers = {
      accept: 'application/json',
      ...(credentials !== undefined && { authorization: basicAuthorization(credentials) }),
    };
    const answer = await retries.send({ method: 'GET', url, headers }, label);
    if (answer.status === 401 || answer.status === 403)
      throw this.#unauthorized(
        credentials === undefined
          ? `does not issue anonymous tokens for ${scopes.join(' ')}: ${url.host} answered ${answer.status}`
          : `does not accept the user and password: ${url.host} answered ${answer.status}`,
      );
    const token = answer.status === 200 ? tokenIn(answer.body) : undefined;
    if (token !== undefined) return token;
    throw new ProductError(
      'REGISTRY_ERROR',
      `${label} answered ${answer.status} without a token; ask its operator`,
    );
  }

  /**
   * Returns the URL of the token server. As with docker, the credentials are sent to this server even if it
   * is another host than the registry. So the URL must be at least as secure as the registry's.
   */
  #realm({ realm }: { readonly realm: string }): URL {
    const url = new URL(realm);
    const isFit = isAtLeastAsSecure(new URL(this.#options.origin), url);
    if (!isFit || url.username !== '' || url.password !== '')
      throw this.#unauthorized(
        `names the token server ${url.protocol}//${url.host}, which is not https (plain http is allowed only for the registry's own host)`,
      );
    return url;
  }

  #unauthorized(message: string): ProductError {
    const { host } = new URL(this.#options.origin);
    return new ProductError(
      'REGISTRY_UNAUTHORIZED',
      `the registry ${host} ${message}; check the registry's user and password, and what the user may do`,
    );
  }
}

/**
 * Returns `token`, or `access_token` as in OAuth. A value with a character that could end a header is not a
 * token.
 */
function tokenIn(body: Buffer): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return undefined;
  }
  const { token, access_token: access } = isObject(value) ? value : {};
  const found = typeof token === 'string' && token !== '' ? token : access;
  return typeof found === 'string' && /^[\x21-\x7e]+$/u.test(found) ? found : undefined;
}
