/** Where the agent says what it does: one line per event, never an argument, a body or a secret. */
export interface Log {
  info(text: string): void;
  error(text: string): void;
}

const lengthLimit = 500;

/** A log of lines `<time> <LEVEL> <text>`; `now` answers milliseconds since the epoch. */
export function lineLog(write: (line: string) => void, now: () => number): Log {
  const line = (level: string, text: string): void =>
    write(`${new Date(now()).toISOString()} ${level} ${firstLine(text)}\n`);
  return { info: (text) => line('INFO', text), error: (text) => line('ERROR', text) };
}

/** The first line of a text, shortened: what follows it may be a program's output, which stays out of logs. */
function firstLine(text: string): string {
  const end = text.indexOf('\n');
  const line = end < 0 ? text : text.slice(0, end);
  return line.length > lengthLimit ? `${line.slice(0, lengthLimit)}…` : line;
}
