import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type WebSocket } from 'ws';
import { ApiError } from '../../../src/kubernetes/client/api-error.ts';
import { badRequest } from '../errors/status-errors.ts';
import { pipeExec, reportFailure, type ExecOutputs } from './exec-session.ts';
import { chooseProtocol, execProtocols } from './exec-protocol.ts';
import type { PodSubresourceRequest } from './pod-log.ts';
import { podTarget } from './pod-target.ts';
import { booleanParameter } from './query.ts';
import type { ExecRequest } from '../../node/pod-console.ts';

/**
 * Serves pods/exec over WebSocket, v5 or v4. Throws ApiError if the target or the protocol is not valid. If
 * the container cannot run the command, the client gets a Status on the error channel, as from a real server
 * (kubectl would take a rejected upgrade for a server without WebSocket).
 */
export async function serveExec(call: PodSubresourceRequest, socket: Duplex, head: Buffer): Promise<void> {
  const { request, console: pods } = call;
  const { outputs, ...command } = execRequest(call);
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
  const webSocket = await completeHandshake(call.request, protocol, socket, head);
  try {
    await pipeExec(webSocket, await pods.exec(command), outputs);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    await reportFailure(webSocket, error);
  }
}

/** Completes the handshake. The socket is paused, so that the client's messages wait for a listener. */
function completeHandshake(
  request: IncomingMessage,
  protocol: string,
  socket: Duplex,
  head: Buffer,
): Promise<WebSocket> {
  const server = new WebSocketServer({ noServer: true, handleProtocols: () => protocol });
  return new Promise((resolve, reject) => {
    // If the handshake is malformed, ws responds with 400 itself and never calls back.
    const refused = (): void => reject(badRequest('the WebSocket handshake was not completed'));
    socket.once('close', refused);
    server.handleUpgrade(request, socket, head, (accepted) => {
      socket.off('close', refused);
      accepted.pause();
      resolve(accepted);
    });
  });
}

function execRequest({
  registry,
  route,
  query,
}: PodSubresourceRequest): ExecRequest & { outputs: ExecOutputs } {
  const command = query.getAll('command');
  if (command.length === 0) throw badRequest('you must specify at least 1 command');
  const streams = ['stdin', 'stdout', 'stderr', 'tty'].map((name) => booleanParameter(query, name) === true);
  const [stdin = false, stdout = false, stderr = false, tty = false] = streams;
  if (!stdin && !stdout && !stderr)
    throw badRequest('you must specify at least one of stdin, stdout, stderr');
  if (tty && stderr) throw badRequest('tty and stderr cannot both be true');
  return {
    ...podTarget(registry, route, query.get('container')),
    command,
    stdin,
    tty,
    outputs: { stdout, stderr },
  };
}
