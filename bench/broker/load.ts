import { Agent, request } from 'node:http';
import { auth, bindBody, nfsQuery, provisionBody } from '../../src/volumes/broker/testing/test-broker.ts';

const agent = new Agent({ keepAlive: true });
const headers = {
  authorization: `Basic ${btoa(`${auth.username}:${auth.passwords[0] ?? ''}`)}`,
  'x-broker-api-version': '2.15',
  'content-type': 'application/json',
};

/** Sends one request and returns the body of a response with 200 or 201. */
export function send(method: string, url: string, body?: object): Promise<string> {
  return new Promise((resolve, reject) => {
    const sending = request(url, { agent, method, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => void chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        if (response.statusCode === 200 || response.statusCode === 201) resolve(text);
        else reject(new Error(`${method} ${url}: ${response.statusCode} ${text}`));
      });
    });
    sending.on('error', reject);
    sending.end(body && JSON.stringify(body));
  });
}

/**
 * Returns the requests per second of `clients` that repeat `work` for some seconds. Each run of `work` makes
 * `requests` requests.
 */
export async function rate(
  clients: number,
  { seconds, requests }: { readonly seconds: number; readonly requests: number },
  work: () => Promise<unknown>,
): Promise<number> {
  const began = performance.now();
  const end = began + seconds * 1000;
  let runs = 0;
  const client = async (): Promise<void> => {
    while (performance.now() < end) {
      await work();
      runs += 1;
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return (runs * requests * 1000) / (performance.now() - began);
}

let lives = 0;

export const lifeRequests = 4;

/** Sends provision, bind, unbind and deprovision as a Cloud Controller does. */
export async function life(url: string): Promise<void> {
  lives += 1;
  const instance = `${url}/v2/service_instances/i-${lives}`;
  const binding = `${instance}/service_bindings/b-${lives}`;
  await send('PUT', instance, provisionBody);
  await send('PUT', binding, bindBody);
  await send('DELETE', `${binding}${nfsQuery}`);
  await send('DELETE', `${instance}${nfsQuery}`);
}

/** Creates a binding and returns a function that repeats the bind. */
export async function bound(url: string): Promise<() => Promise<unknown>> {
  const instance = `${url}/v2/service_instances/bound`;
  await send('PUT', instance, provisionBody);
  const bind = (): Promise<unknown> => send('PUT', `${instance}/service_bindings/b`, bindBody);
  await bind();
  return bind;
}
