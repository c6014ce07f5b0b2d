import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { errorCode, errorText } from '../../file/error-code.ts';
import { isObject } from '../../settings/json.ts';
import type { CommandResult } from './run-command.ts';

/** Sends the arguments of a `monit` command to the agent's socket and returns the agent's result. */
export async function callAgent(path: string, words: readonly string[]): Promise<CommandResult> {
  try {
    const socket = connect(path);
    socket.write(`${JSON.stringify({ words })}\n`);
    const answer: unknown = JSON.parse(await text(socket));
    const { code, output, error } = isObject(answer) ? answer : {};
    if (typeof code === 'number' && typeof output === 'string' && typeof error === 'string')
      return { code, output, error };
    return unreachable('its answer is not one of the agent');
  } catch (error) {
    const code = errorCode(error);
    if (code === 'EACCES') return unreachable('only root may use monit');
    if (code === 'ENOENT' || code === 'ECONNREFUSED') return unreachable('the agent does not run');
    return unreachable(errorText(error));
  }
}

function unreachable(cause: string): CommandResult {
  return { code: 1, output: '', error: `monit: error connecting to the monit daemon: ${cause}\n` };
}
