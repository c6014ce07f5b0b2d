import type { Agent } from 'node:https';
import { requestWithRetry, parseObject } from './https-exchange.ts';

/** A client of a UAA. */
export interface UaaClient {
  readonly id: string;
  readonly secret: string;
}

export interface TokenSource {
  /** A token that is good for a while, from the UAA where there is none. `url` is the UAA's. */
  get(url: string, deadlineMs: number): Promise<string>;
  /** The server that the token is for refused it. */
  invalidate(token: string): void;
}

/** A token is fetched anew so long before its end. */
const refreshBeforeExpiryMs = 30_000;

/** Tokens by UAA's client credentials grant. All who ask while one is fetched get that one. */
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
