import { answerRequest } from './answer.ts';
import { bunFiles, bunProcess } from './protocol/process.ts';

/** Runs `cpi [config file]`: one request on stdin, one response on stdout, exit code 0. */
async function main(): Promise<void> {
  const bun = bunFiles();
  const cpi = bun === undefined ? (await import('./protocol/node-process.ts')).nodeProcess : bunProcess(bun);
  const configPath = process.argv[2];
  const response = await answerRequest(cpi.readInput(), {
    readConfig: async () => (configPath === undefined ? undefined : cpi.readFile(configPath)),
    openCall: async (options) => {
      const { openCall } = await import('./open-call.ts');
      return openCall({ ...options, environment: process.env, reportProgress: writeProgress });
    },
  });
  await cpi.writeOutput(`${JSON.stringify(response)}\n`);
}

/** A director writes stderr to the CPI log of its task. */
const writeProgress = (line: string): void => void process.stderr.write(`${line}\n`);

void main();
