import { execFile } from 'node:child_process';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Access } from '../access/access.ts';
import { startProxy } from './proxy-server.ts';
import { startTlsServer } from './tls-server.ts';

const status = (body: object): string =>
  JSON.stringify({ kind: 'Status', apiVersion: 'v1', metadata: {}, ...body });

const notFoundStatus = status({
  status: 'Failure',
  reason: 'NotFound',
  code: 404,
  message: 'pods "gone" not found',
});

const exited = (code: string): object => ({
  status: 'Failure',
  reason: 'NonZeroExitCode',
  details: { causes: [{ reason: 'ExitCode', message: code }] },
});

export interface ExecServer {
  readonly access: Access;
  /** The same server, reachable only through a proxy. */
  readonly proxied: Access;
  readonly close: () => Promise<void>;
}

/**
 * Starts a server for v5.channel.k8s.io. The first argument of the command selects the behaviour. A shell
 * runs on this machine; in the pod `killed` the container runtime is killed under it.
 */
export async function startExecServer(
  onUpgrade: (request: IncomingMessage) => void = () => undefined,
): Promise<ExecServer> {
  const { access, server, close } = await startTlsServer((request, response) => {
    const isDeleted = request.url?.includes('/gone/') === true;
    response.writeHead(isDeleted ? 404 : 400).end(isDeleted ? notFoundStatus : 'Upgrade request required');
  });
  const sockets = new WebSocketServer({
    noServer: true,
    handleProtocols: (offered) => (offered.has('v5.channel.k8s.io') ? 'v5.channel.k8s.io' : false),
  });
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    onUpgrade(request);
    const url = new URL(request.url ?? '/', 'https://any');
    if (url.pathname.includes('/gone/')) {
      refuse(socket);
      return;
    }
    sockets.handleUpgrade(request, socket, head, (webSocket) => {
      behave(webSocket, url.searchParams.getAll('command'), url);
    });
  });
  const proxy = await startProxy(new URL(access.server).port);
  return {
    access,
    proxied: {
      ...access,
      server: 'https://behind-the-proxy.invalid:6443',
      tlsServerName: '127.0.0.1',
      proxy: `http://user:pass%20word@127.0.0.1:${proxy.port}`,
    },
    close: async () => {
      proxy.close();
      for (const client of sockets.clients) {
        client.terminate();
      }
      await close();
    },
  };
}

function refuse(socket: Duplex): void {
  const body = notFoundStatus;
  socket.end(
    `HTTP/1.1 404 Not Found\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
  );
}

function behave(socket: WebSocket, command: string[], url: URL): void {
  const send = (channel: number, text: string): void => {
    socket.send(Buffer.concat([Uint8Array.of(channel), Buffer.from(text)]));
  };
  const finish = (body: object): void => {
    send(3, status(body));
    socket.close(1000);
  };
  switch (command[0]) {
    case 'echo':
      send(1, `${command.slice(1).join('|')} in ${url.searchParams.get('container')}`);
      send(2, 'warning');
      finish({ status: 'Success' });
      return;
    case 'exit':
      finish(exited(command[1] ?? ''));
      return;
    case 'missing':
      finish({ status: 'Failure', reason: 'InternalError', code: 500, message: 'no such executable' });
      return;
    case 'cat': {
      const input: string[] = [];
      socket.on('message', (data: Buffer) => {
        if (data[0] === 255 && data[1] === 0) {
          send(1, input.join(''));
          finish({ status: 'Success' });
          return;
        }
        input.push(data.subarray(1).toString());
      });
      return;
    }
    case '/bin/sh':
      if (url.pathname.includes('/killed/')) {
        send(1, 'begun');
        finish({ status: 'Success' });
        return;
      }
      execFile('/bin/sh', command.slice(1), (error, stdout, stderr) => {
        send(1, stdout);
        send(2, stderr);
        finish(error === null ? { status: 'Success' } : exited(String(error.code)));
      });
      return;
    case 'flood': {
      const chunk = Buffer.alloc(1 << 20, 'x');
      const flood = (): void => {
        if (socket.readyState === socket.OPEN) socket.send(chunk, flood);
      };
      flood();
      return;
    }
    case 'drop':
      socket.terminate();
      return;
    default:
  }
}
