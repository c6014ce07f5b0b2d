import type { IncomingMessage } from 'node:http';
import type { Access } from '../access/access.ts';
import { startExecServer } from './exec-server.ts';
import { startProxy } from './proxy-server.ts';
import { startTlsServer } from './tls-server.ts';

/** The impersonation of one request; plain data, in the order in which requests were sent. */
interface Recorded {
  readonly method: string;
  readonly path: string;
  /** The name in lower case and the value of each header `Impersonate-...`. */
  readonly impersonation: readonly (readonly [string, string])[];
}

export interface RecordingServer {
  /** The access as the administrator. */
  readonly access: Access;
  /** The same server, through a proxy. */
  readonly proxied: Access;
  /** The same server, for commands in pods: `echo`. */
  readonly exec: Access;
  readonly requests: Recorded[];
  readonly close: () => Promise<void>;
}

/**
 * Starts real TLS servers that respond to every request with an empty object and record its impersonation
 * headers.
 */
export async function startRecordingServer(): Promise<RecordingServer> {
  const requests: Recorded[] = [];
  const record = (request: IncomingMessage): void => void requests.push(recorded(request));
  const main = await startTlsServer((request, response) => {
    record(request);
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  const proxy = await startProxy(new URL(main.access.server).port);
  const exec = await startExecServer(record);
  return {
    access: main.access,
    proxied: {
      ...main.access,
      server: 'https://behind-the-proxy.invalid:6443',
      tlsServerName: '127.0.0.1',
      proxy: `http://user:pass%20word@127.0.0.1:${proxy.port}`,
    },
    exec: exec.access,
    requests,
    close: async () => {
      proxy.close();
      await exec.close();
      await main.close();
    },
  };
}

function recorded({ method = '', url = '/', rawHeaders }: IncomingMessage): Recorded {
  const impersonation: [string, string][] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] ?? '').toLowerCase();
    if (name.startsWith('impersonate-')) impersonation.push([name, rawHeaders[index + 1] ?? '']);
  }
  return { method, path: url.replace(/\?.*$/u, ''), impersonation };
}
