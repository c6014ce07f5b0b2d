import { once } from 'node:events';
import { chmod, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { Socket } from 'node:net';
import { errorText } from '../../file/error-code.ts';
import type { Log } from '../../log.ts';
import { isObject } from '../../settings/json.ts';
import { runCommand } from './run-command.ts';
import type { CommandPorts, CommandResult } from './run-command.ts';

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
    answer(socket, ports).catch((error: unknown) => {
      log.error(`a monit command failed: ${errorText(error)}`);
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

async function answer(socket: Socket, ports: CommandPorts): Promise<void> {
  const words = parseArgs(await readLine(socket));
  const result: CommandResult =
    words === undefined
      ? { code: 1, output: '', error: 'monit: the request is not a list of words\n' }
      : await runCommand(words, ports);
  socket.end(`${JSON.stringify(result)}\n`);
}

async function readLine(socket: Socket): Promise<string> {
  let text = '';
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    text += String(chunk);
    if (text.includes('\n') || text.length > requestLimit) break;
  }
  return text.slice(0, requestLimit);
}

function parseArgs(line: string): readonly string[] | undefined {
  try {
    const request: unknown = JSON.parse(line);
    const words: unknown = isObject(request) ? request['words'] : undefined;
    if (!Array.isArray(words)) return undefined;
    return words.every((word): word is string => typeof word === 'string') ? words : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
