import { type AnswerDependencies, answerRequest } from './answer.ts';
import { CallRecorder } from './protocol/call-recorder.ts';
import type { CpiResponse } from './protocol/protocol.ts';
import { bunFiles, bunProcess } from './protocol/process.ts';

/**
 * Runs `cpi [config file]`: one request on stdin, one response on stdout, the record of the call on stderr,
 * exit code 0.
 */
async function main(): Promise<void> {
  const bun = bunFiles();
  const cpi = bun === undefined ? (await import('./protocol/node-process.ts')).nodeProcess : bunProcess(bun);
  const configPath = process.argv[2];
  const recorder = new CallRecorder();
  const dependencies: AnswerDependencies = {
    readConfig: async () => (configPath === undefined ? undefined : cpi.readFile(configPath)),
    openCall: async (options) => {
      const { openCall } = await import('./open-call.ts');
      // not before the request was read, which blocks Node
      process.once('SIGTERM', () => endBySignal(recorder));
      return openCall({ ...options, environment: process.env, reportProgress: writeProgress });
    },
  };
  const response = await answerRequest(cpi.readInput(), dependencies, recorder);
  await cpi.writeOutput(`${JSON.stringify(response)}\n`);
  await cpi.writeError(await recordLine(recorder, response));
}

/** Most calls have no error, and do not load what shortens its message. */
async function recordLine(recorder: CallRecorder, { error }: CpiResponse): Promise<string> {
  if (error === null) return recorder.line('ok');
  const { oneLine, truncateAtWord } = await import('../errors/text.ts');
  return recorder.line(error.type, truncateAtWord(oneLine(error.message), 500));
}

/** Writes the record of a call that SIGTERM ends, and then lets the signal end the process. */
function endBySignal(recorder: CallRecorder): void {
  try {
    process.getBuiltinModule('node:fs').writeSync(2, recorder.line('SIGTERM'));
  } finally {
    process.kill(process.pid, 'SIGTERM');
  }
}

/** A director writes stderr to the CPI log of its task. */
const writeProgress = (line: string): void => void process.stderr.write(`${line}\n`);

void main();
