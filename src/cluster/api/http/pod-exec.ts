import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';
import { badRequest } from '../errors/status-errors.ts';
import { joinExec } from './exec-session.ts';
import { chooseProtocol, execProtocols } from './exec-protocol.ts';
import type { PodRequest } from './pod-log.ts';
import { podTarget } from './pod-target.ts';
import { booleanParameter } from './query.ts';
import type { ExecRequest } from '../../node/pod-console.ts';

/**
 * pods/exec over WebSocket, v5 or v4. The command is started before the upgrade, so that what cannot run is an
 * HTTP answer with a Status. Throws ApiError until then; what ends later ends the connection.
 */
export async function serveExec(call: PodRequest, socket: Duplex, head: Buffer): Promise<void> {
  const { request, console: pods } = call;
  const command = execRequest(call);
  if ((request.headers.upgrade ?? '').toLowerCase() !== 'websocket') {
    throw badRequest(
      'the embedded cluster serves exec over WebSocket only, not over SPDY: use kubectl 1.31 or newer, or another client of v5.channel.k8s.io',
    );
  }
  const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim());
  const protocol = chooseProtocol(offered);
  if (protocol === undefined) {
    throw badRequest(
      `the server does not speak ${offered.join(', ')}; it speaks ${execProtocols.join(', ')}`,
    );
  }
  const session = await pods.exec(command);
  const server = new WebSocketServer({ noServer: true, handleProtocols: () => protocol });
  const webSocket = await new Promise<WebSocket>((resolve, reject) => {
    const refused = (): void => reject(new Error('the client left before exec began'));
    socket.once('close', refused);
    server.handleUpgrade(request, socket, head, (accepted) => {
      socket.off('close', refused);
      resolve(accepted);
    });
  }).catch((error: unknown) => {
    session.kill();
    throw error;
  });
  await joinExec(webSocket, session);
}

function execRequest({ registry, route, query }: PodRequest): ExecRequest {
  const command = query.getAll('command');
  if (command.length === 0) throw badRequest('you must specify at least 1 command');
  const streams = ['stdin', 'stdout', 'stderr', 'tty'].map((name) => booleanParameter(query, name) === true);
  const [stdin = false, stdout = false, stderr = false, tty = false] = streams;
  if (!stdin && !stdout && !stderr)
    throw badRequest('you must specify at least one of stdin, stdout, stderr');
  if (tty && stderr) throw badRequest('tty and stderr cannot both be true');
  return { ...podTarget(registry, route, query.get('container')), command, stdin, tty };
}
