import { once } from 'node:events';
import { chmod, rm } from 'node:fs/promises';
import { createServer, type Socket, connect } from 'node:net';
import { errorMessage, errorCode } from '../../file/error-code.ts';
import type { Log } from '../../log.ts';
import { parseJsonObject } from '../../../platform/json.ts';
import { runCommand, type CommandPorts, type CommandResult } from './run-command.ts';
import { text } from 'node:stream/consumers';

const requestLimit = 64 * 1024;
const idleTimeoutMs = 10_000;

/**
 * Serves `monit` commands on a unix socket: reads a line of JSON with the arguments, and writes one with the
 * result. Only root can enter the directory of the socket. Returns a function that stops the server.
 */
export async function serveCommands(
  path: string,
  ports: CommandPorts,
  log: Log,
): Promise<() => Promise<void>> {
  await rm(path, { force: true });
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    socket.setTimeout(idleTimeoutMs, () => socket.destroy());
    // The client has disconnected and needs no response.
    socket.on('error', () => socket.destroy());
    respond(socket, ports).catch((error: unknown) => {
      log.error(`a monit command failed: ${errorMessage(error)}`);
      socket.destroy();
    });
  });
  server.listen(path);
  await once(server, 'listening');
  await chmod(path, 0o600);
  return async () => {
    const closed = once(server, 'close');
    server.close();
    for (const socket of open) socket.destroy();
    await closed;
  };
}

async function respond(socket: Socket, ports: CommandPorts): Promise<void> {
  const args = parseArgs(await readLine(socket));
  const result: CommandResult =
    args === undefined
      ? { code: 1, output: '', error: 'monit: the request is not a list of strings\n' }
      : await runCommand(args, ports);
  socket.end(`${JSON.stringify(result)}\n`);
}

async function readLine(socket: Socket): Promise<string> {
  let line = '';
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    line += String(chunk);
    if (line.includes('\n') || line.length > requestLimit) break;
  }
  return line.slice(0, requestLimit);
}

function parseArgs(line: string): readonly string[] | undefined {
  const args = parseJsonObject(line)?.['words'];
  if (!Array.isArray(args)) return undefined;
  return args.every((arg): arg is string => typeof arg === 'string') ? args : undefined;
}

/** Sends the arguments of a `monit` command to the agent's socket and returns the agent's result. */
export async function callAgent(path: string, args: readonly string[]): Promise<CommandResult> {
  try {
    const socket = connect(path);
    socket.write(`${JSON.stringify({ words: args })}\n`);
    const { code, output, error } = parseJsonObject(await text(socket)) ?? {};
    if (typeof code === 'number' && typeof output === 'string' && typeof error === 'string')
      return { code, output, error };
    return unreachable('its response is not valid');
  } catch (error) {
    const code = errorCode(error);
    if (code === 'EACCES') return unreachable('only root may use monit');
    if (code === 'ENOENT' || code === 'ECONNREFUSED') return unreachable('the agent is not running');
    return unreachable(errorMessage(error));
  }
}

function unreachable(cause: string): CommandResult {
  return { code: 1, output: '', error: `monit: error connecting to the monit daemon: ${cause}\n` };
}
