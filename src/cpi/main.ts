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
  // a write that blocks cannot run the listener
  process.removeAllListeners('SIGTERM');
  await cpi.writeOutput(`${JSON.stringify(response)}\n`);
  try {
    await cpi.writeError(await recordLine(recorder, response));
  } catch {
    // the caller has the response: the result of the call does not depend on its record
  }
}

/** Most calls have no error, and do not load what shortens its message. */
async function recordLine(recorder: CallRecorder, { error }: CpiResponse): Promise<string> {
  if (error === null) return recorder.line('ok');
  const { oneLine, truncateAtWord } = await import('../errors/text.ts');
  return recorder.line(error.type, truncateAtWord(oneLine(error.message), 500));
}

/**
 * Writes the record of a call that SIGTERM ends, and then lets the signal end the process, also if stderr is
 * a full pipe that no process reads.
 */
function endBySignal(recorder: CallRecorder): void {
  const end = (): void => void process.kill(process.pid, 'SIGTERM');
  setTimeout(end, 1000);
  process.getBuiltinModule('node:fs').write(2, recorder.line('SIGTERM'), end);
}

/** A director writes stderr to the CPI log of its task. A call goes on if that cannot be written. */
function writeProgress(line: string): void {
  if (process.stderr.listenerCount('error') === 0) process.stderr.on('error', () => undefined);
  process.stderr.write(`${line}\n`);
}

void main();
