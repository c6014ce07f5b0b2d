import { createInterface } from 'node:readline/promises';

/** What a command says and asks. */
export interface Terminal {
  out(text: string): void;
  error(line: string): void;
  /** False when nobody can answer: input is not a terminal. */
  readonly canAsk: boolean;
  /** One line of the operator's. */
  ask(question: string): Promise<string>;
}

/** The process's own streams. */
export function processTerminal(): Terminal {
  return {
    out: (text) => void process.stdout.write(text),
    error: (line) => void process.stderr.write(`${line}\n`),
    canAsk: process.stdin.isTTY === true,
    ask: async (question) => {
      const lines = createInterface({ input: process.stdin, output: process.stdout });
      try {
        return await lines.question(question);
      } finally {
        lines.close();
      }
    },
  };
}
