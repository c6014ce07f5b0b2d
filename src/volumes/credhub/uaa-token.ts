import type { Agent } from 'node:https';
import { requestWithRetry, parseObject } from './https-exchange.ts';

/** The credentials of a UAA client. */
export interface UaaClient {
  readonly id: string;
  readonly secret: string;
}

export interface TokenSource {
  /** Returns a valid token. Fetches one from the UAA at `url` if there is none. */
  get(url: string, deadlineMs: number): Promise<string>;
  /** Discards a token that its server has rejected. */
  invalidate(token: string): void;
}

/** How long before its expiry a token is fetched again. */
const refreshBeforeExpiryMs = 30_000;

/** Returns a source of tokens with UAA's client credentials grant. Concurrent callers share one request. */
export function createTokenSource(client: UaaClient, agent: Agent): TokenSource {
  let current: { readonly token: string; readonly endsAt: number } | undefined;
  let fetching: Promise<string> | undefined;

  async function fetchToken(url: string, deadlineMs: number): Promise<string> {
    const credentials = [client.id, client.secret].map(encodeURIComponent).join(':');
    const asked = performance.now();
    const reply = await requestWithRetry(
      {
        agent,
        method: 'POST',
        url: `${url.replace(/\/+$/u, '')}/oauth/token`,
        headers: {
          authorization: `Basic ${Buffer.from(credentials).toString('base64')}`,
          'content-type': 'application/x-www-form-urlencoded',
          accept: 'application/json',
        },
        body: 'grant_type=client_credentials&response_type=token',
      },
      deadlineMs,
    );
    const { status } = reply;
    const { access_token: token, expires_in: seconds } = status === 200 ? parseObject(reply) : {};
    if (typeof token !== 'string' || typeof seconds !== 'number')
      throw new Error(`the UAA at ${url} gives no token to client ${client.id}: status ${status}`);
    const lifeMs = seconds * 1000;
    current = { token, endsAt: asked + lifeMs - Math.min(refreshBeforeExpiryMs, lifeMs / 2) };
    return token;
  }

  return {
    get: async (url, deadlineMs) => {
      if (current !== undefined && performance.now() < current.endsAt) return current.token;
      fetching ??= fetchToken(url, deadlineMs).finally(() => {
        fetching = undefined;
      });
      return fetching;
    },
    invalidate: (token) => {
      if (current?.token === token) current = undefined;
    },
  };
}
