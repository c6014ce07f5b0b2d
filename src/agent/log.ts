import { format } from 'node:util';
import { oneLine } from '../errors/text.ts';

/** The agent's log: one line per event, never with an argument, a body or a secret. */
export interface Log {
  info(text: string): void;
  error(text: string): void;
}

const lengthLimit = 500;

/**
 * Returns a log of lines `<time> <LEVEL> <text>`, without control characters of other programs. `now` returns
 * milliseconds since the epoch.
 */
export function lineLog(write: (line: string) => void, now: () => number): Log {
  const line = (level: string, text: string): void =>
    write(`${new Date(now()).toISOString()} ${level} ${oneLine(firstLine(text))}\n`);
  return { info: (text) => line('INFO', text), error: (text) => line('ERROR', text) };
}

/**
 * Sends to the log what libraries print with `console`, which may be several lines and the text of a server.
 */
export function routeConsole(log: Log): void {
  const info = (...values: readonly unknown[]): void => log.info(format(...values));
  const error = (...values: readonly unknown[]): void => log.error(format(...values));
  Object.assign(console, { log: info, info, debug: info, warn: error, error, trace: error });
}

/**
 * Returns the first line of a text, truncated. The lines after it may be a program's output, which must not
 * be logged.
 */
function firstLine(text: string): string {
  const end = text.indexOf('\n');
  const line = end < 0 ? text : text.slice(0, end);
  return line.length > lengthLimit ? `${line.slice(0, lengthLimit)}…` : line;
}
