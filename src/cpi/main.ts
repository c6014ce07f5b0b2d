import { readFileSync } from 'node:fs';
import { answer } from './answer.ts';
import { readAll, writeAll } from './descriptor.ts';

/** `cpi [config file]`: one request on stdin, one response on stdout, exit code 0. */
async function main(): Promise<void> {
  const configPath = process.argv[2];
  const response = await answer(readAll(0), {
    readConfig: () => (configPath === undefined ? undefined : readFileSync(configPath, 'utf8')),
    openSession: async (options) =>
      (await import('./session.ts')).openSession({ ...options, environment: process.env }),
  });
  writeAll(1, `${JSON.stringify(response)}\n`);
}

void main();
